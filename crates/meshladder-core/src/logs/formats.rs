//! The formats that a mesh's own settings name, and those that a proxy says it writes.

use crate::access_log::Format;
use crate::doc::json::Raw;
use crate::doc::tree::{Member, Node, Value};
use crate::envoy::dump::{Dump, Section};
use crate::mesh::config::config_maps;
use crate::mesh::{Mesh, MeshConfig};
use crate::snapshot::{Shape, Snapshot};

/// `accessLogFormat` of every revision's `MeshConfig`, and those of `envoyFileAccessLog` providers, which Telemetry picks
/// from. With what cannot be compiled.
pub fn of_mesh(mesh: &Mesh) -> (Vec<Format>, Vec<String>) {
    let maps: Vec<MeshConfig> = config_maps(&mesh.objects).map(|(_, map)| MeshConfig::of_config_map(map)).collect();
    let trees = maps.iter().chain([&mesh.config]).filter_map(|config| config.tree.as_ref());
    let mut texts: Vec<String> = trees.flat_map(|tree| own(tree).into_iter().chain(of_providers(tree))).collect();
    texts.sort();
    texts.dedup();
    compiled(&texts, "MeshConfig")
}

/// What some proxies write to their container's log, as the listeners in their dumps have it: what MeshConfig and Telemetry
/// came to, and what an EnvoyFilter changed. Proxies are `(namespace, pod)`; one without a dump says nothing.
pub fn of_proxies(snapshot: &Snapshot, wanted: &[(&str, &str)]) -> (Vec<Format>, Vec<String>) {
    let mut texts = Vec::new();
    let is_wanted = |namespace: &str, pod: &str| wanted.contains(&(namespace, pod));
    for (proxy, id) in snapshot.proxies_with(Shape::ConfigDump) {
        if is_wanted(&proxy.namespace, &proxy.pod)
            && let Ok(document) = snapshot.open(id)
        {
            texts.extend(of_dump(&document.text));
        }
    }
    texts.sort();
    texts.dedup();
    compiled(&texts, "a config dump")
}

fn compiled(texts: &[String], of: &str) -> (Vec<Format>, Vec<String>) {
    let (mut formats, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match Format::compile(text) {
            Ok(format) => formats.push(format),
            Err(why) => problems.push(format!("a format of {of} cannot be used: {why}")),
        }
    }
    (formats, problems)
}

fn of_dump(text: &str) -> Vec<String> {
    let Ok(dump) = Dump::index(text, &[Section::Listeners]) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for listener in dump.of(Section::Listeners).filter_map(|listener| listener.raw) {
        let chains = listener.list("filter_chains").chain(listener.get("default_filter_chain"));
        let filters = chains.flat_map(|chain| chain.list("filters")).filter_map(|filter| filter.get("typed_config"));
        for log in filters.chain([listener]).flat_map(|holder| holder.list("access_log")) {
            let text = log.get("typed_config").and_then(written);
            // Every listener of a proxy has the same, as a rule.
            if let Some(text) = text.filter(|text| found.last() != Some(text)) {
                found.push(text);
            }
        }
    }
    found
}

/// The format of a `FileAccessLog` or a `StdoutAccessLog`; none for those that go elsewhere, or say nothing and so use
/// Envoy's own.
fn written(logger: Raw<'_>) -> Option<String> {
    let kind = logger.string_at("@type")?;
    let kind = kind.rsplit('.').next()?;
    let is_of_container = match kind {
        "FileAccessLog" => {
            logger.string_at("path").is_some_and(|path| ["/dev/stdout", "/dev/stderr"].contains(&&*path))
        }
        "StdoutAccessLog" | "StderrAccessLog" => true,
        _ => false,
    };
    let text = |raw: Option<Raw<'_>>| raw.and_then(Raw::string).map(std::borrow::Cow::into_owned);
    let object = |raw: Option<Raw<'_>>| raw.map(|raw| raw.text().to_owned());
    let format = logger.get("log_format");
    let of_format = |key: &str| format.and_then(|format| format.get(key));
    let found = text(format.and_then(|format| format.at(["text_format_source", "inline_string"])))
        .or_else(|| text(of_format("text_format")))
        .or_else(|| object(of_format("json_format")))
        // Deprecated, and still read.
        .or_else(|| text(logger.get("format")))
        .or_else(|| object(logger.get("json_format")))
        .or_else(|| object(logger.get("typed_json_format")));
    found.filter(|text| is_of_container && !text.is_empty())
}

/// "accessLogEncoding: TEXT or JSON"; for JSON the format is an object in text.
fn own(tree: &Node) -> Option<String> {
    tree.str_at("accessLogFormat").filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// `logFormat.text`, or `logFormat.labels` for JSON.
fn of_providers(tree: &Node) -> Vec<String> {
    let providers = tree.get("extensionProviders").map_or(&[][..], Node::items);
    let formats = providers.iter().filter_map(|provider| provider.at(["envoyFileAccessLog", "logFormat"]));
    let text = |format: &Node| {
        let labels = || format.get("labels").filter(|labels| !labels.members().is_empty()).map(to_json);
        format.str_at("text").filter(|text| !text.is_empty()).map(str::to_owned).or_else(labels)
    };
    formats.filter_map(text).collect()
}

fn to_json(node: &Node) -> String {
    let member = |member: &Member| format!("{}:{}", crate::doc::json::escape(&member.key), to_json(&member.value));
    match &node.value {
        Value::Object(members) => format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(",")),
        _ => crate::doc::json::escape(node.str().unwrap_or_default()),
    }
}
