//! The formats that a mesh's own settings name, and those that a proxy says it writes.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_capture::access_log::{FormatList, LogFormat};
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_mesh::config::config_maps;
use meshladder_mesh::{Mesh, MeshConfig};
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};

/// Which formats to try for the lines of each of several logs.
#[derive(Clone, Debug)]
pub struct LogFormats {
    sets: Vec<FormatList>,
    /// The set of each log; the first where none is said.
    of: Vec<usize>,
}

impl Default for LogFormats {
    fn default() -> Self {
        Self::same(FormatList::OWN)
    }
}

impl LogFormats {
    /// One list for all logs.
    pub fn same(formats: FormatList) -> Self {
        Self {
            sets: vec![formats],
            of: Vec::new(),
        }
    }

    pub(super) fn sets(&self) -> &[FormatList] {
        &self.sets
    }

    pub(super) fn set_of(&self, log: usize) -> usize {
        self.of.get(log).copied().unwrap_or_default()
    }
}

/// The formats of logs that these proxies wrote, each `(namespace, pod)`, where that is known:
/// those that were given, then what the proxy itself writes, then what the others and the mesh's
/// settings name. With what cannot be compiled.
pub fn of_logs(
    snapshot: &Snapshot,
    mesh: &Mesh,
    given: &[LogFormat],
    writers: &[Option<(&str, &str)>],
) -> (LogFormats, Vec<String>) {
    let known: BTreeSet<(&str, &str)> = writers.iter().flatten().copied().collect();
    let own: BTreeMap<_, Vec<String>> = known
        .into_iter()
        .map(|one| (one, texts_of(snapshot, &[one])))
        .collect();
    let mut all: Vec<String> = own.values().flatten().cloned().collect();
    all.sort();
    all.dedup();
    let (of_settings, mut problems) = of_mesh(mesh);
    let mut compiled = BTreeMap::new();
    for text in &all {
        match LogFormat::compile(text) {
            Ok(format) => drop(compiled.insert(text.as_str(), format)),
            Err(why) => problems.push(unusable("a config dump", &why)),
        }
    }
    let mut formats = LogFormats {
        sets: Vec::new(),
        of: Vec::new(),
    };
    let mut orders: Vec<Vec<&str>> = Vec::new();
    for writer in writers {
        let first: &[String] = writer
            .as_ref()
            .and_then(|writer| own.get(writer))
            .map_or(&[], Vec::as_slice);
        let rest = all.iter().filter(|text| !first.contains(text));
        let order: Vec<&str> = first.iter().chain(rest).map(String::as_str).collect();
        let at = orders
            .iter()
            .position(|known| *known == order)
            .unwrap_or_else(|| {
                let of_proxies = order.iter().filter_map(|text| compiled.get(text));
                formats.sets.push(FormatList::new(
                    given
                        .iter()
                        .chain(of_proxies)
                        .chain(&of_settings)
                        .cloned()
                        .collect(),
                ));
                orders.push(order);
                orders.len() - 1
            });
        formats.of.push(at);
    }
    if formats.sets.is_empty() {
        formats.sets.push(FormatList::new(
            given.iter().chain(&of_settings).cloned().collect(),
        ));
    }
    (formats, problems)
}

/// `accessLogFormat` of every revision's `MeshConfig`, and those of `envoyFileAccessLog` providers,
/// which Telemetry picks from. With what cannot be compiled.
pub fn of_mesh(mesh: &Mesh) -> (Vec<LogFormat>, Vec<String>) {
    let maps: Vec<MeshConfig> = config_maps(&mesh.objects)
        .map(|(_, map)| MeshConfig::of_config_map(map))
        .collect();
    let trees = maps
        .iter()
        .chain([&mesh.config])
        .filter_map(|config| config.tree.as_ref());
    let mut texts: Vec<String> = trees
        .flat_map(|tree| own(tree).into_iter().chain(of_providers(tree)))
        .collect();
    texts.sort();
    texts.dedup();
    compiled(&texts, "MeshConfig")
}

/// What some proxies write to their container's log, as the listeners in their dumps have it: what
/// MeshConfig and Telemetry came to, and what an EnvoyFilter changed. Proxies are `(namespace,
/// pod)`; one without a dump says nothing.
pub fn of_proxies(snapshot: &Snapshot, wanted: &[(&str, &str)]) -> (Vec<LogFormat>, Vec<String>) {
    compiled(&texts_of(snapshot, wanted), "a config dump")
}

fn texts_of(snapshot: &Snapshot, wanted: &[(&str, &str)]) -> Vec<String> {
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
    texts
}

fn compiled(texts: &[String], of: &str) -> (Vec<LogFormat>, Vec<String>) {
    let (mut formats, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match LogFormat::compile(text) {
            Ok(format) => formats.push(format),
            Err(why) => problems.push(unusable(of, &why)),
        }
    }
    (formats, problems)
}

fn unusable(of: &str, why: &str) -> String {
    format!("a format of {of} cannot be used: {why}")
}

fn of_dump(text: &str) -> Vec<String> {
    let Ok(dump) = Dump::index(text, &[Section::Listeners]) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    for listener in dump
        .of(Section::Listeners)
        .filter_map(|listener| listener.raw)
    {
        let chains = listener
            .list("filter_chains")
            .chain(listener.get("default_filter_chain"));
        let filters = chains
            .flat_map(|chain| chain.list("filters"))
            .filter_map(|filter| filter.get("typed_config"));
        for log in filters
            .chain([listener])
            .flat_map(|holder| holder.list("access_log"))
        {
            let text = log.get("typed_config").and_then(written);
            // Every listener of a proxy has the same, as a rule.
            if let Some(text) = text.filter(|text| found.last() != Some(text)) {
                found.push(text);
            }
        }
    }
    found
}

/// The format of a `FileAccessLog` or a `StdoutAccessLog`; none for those that go elsewhere, or say
/// nothing and so use Envoy's own.
fn written(logger: Raw<'_>) -> Option<String> {
    let kind = logger.string_at("@type")?;
    let kind = kind.rsplit('.').next()?;
    let is_of_container = match kind {
        "FileAccessLog" => logger
            .string_at("path")
            .is_some_and(|path| ["/dev/stdout", "/dev/stderr"].contains(&&*path)),
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
    tree.str_at("accessLogFormat")
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// `logFormat.text`, or `logFormat.labels` for JSON.
fn of_providers(tree: &Node) -> Vec<String> {
    let providers = tree.get("extensionProviders").map_or(&[][..], Node::items);
    let formats = providers
        .iter()
        .filter_map(|provider| provider.at(["envoyFileAccessLog", "logFormat"]));
    let text = |format: &Node| {
        let labels = || {
            format
                .get("labels")
                .filter(|labels| !labels.members().is_empty())
                .map(|labels| texts(labels).to_json())
        };
        format
            .str_at("text")
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .or_else(labels)
    };
    formats.filter_map(text).collect()
}

/// The labels as a format: Envoy's are objects and text, so anything else counts as empty text.
fn texts(node: &Node) -> Value {
    match &node.value {
        Value::Object(members) => Value::object(members.iter().map(|m| (&*m.key, texts(&m.value)))),
        _ => node.str().unwrap_or_default().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::{Chunk, Collector, Event, LineFilter};
    use meshladder_capture::access_log::LogField;
    use meshladder_capture::snapshot::{Builder, DocId};

    fn dump(format: &str) -> String {
        format!(
            r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[{{"name":"l","active_state":{{"listener":{{"name":"l","access_log":[{{"typed_config":{{"@type":"type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog","path":"/dev/stdout","log_format":{{"text_format_source":{{"inline_string":{}}}}}}}}}]}}}}}}]}}]}}"#,
            meshladder_text::json::escape(format)
        )
    }

    /// Both formats fit every line: only who wrote it tells them apart.
    #[test]
    fn what_a_proxy_says_it_writes_is_tried_first_for_its_own_lines() {
        let mut builder = Builder::new();
        for (pod, format) in [
            ("a", "%RESPONSE_CODE% %DURATION% %PROTOCOL%\n"),
            ("b", "%DURATION% %RESPONSE_CODE% %PROTOCOL%\n"),
        ] {
            let id = DocId::new(format!("proxies/shop/{pod}/config_dump.json"));
            builder.add(id, pod, dump(format).into());
        }
        let snapshot = builder.finish();
        let writers = [
            Some(("shop", "b")),
            Some(("shop", "a")),
            Some(("shop", "a")),
            None,
        ];
        let (formats, problems) = of_logs(&snapshot, &Mesh::build(&snapshot), &[], &writers);
        assert_eq!((problems, formats.sets.len()), (Vec::new(), 2));
        let filter = LineFilter::default();
        let mut collector = Collector::new(&formats, &filter);
        let mut code = |source: usize, text: &str| {
            let mut found = String::new();
            collector.each(
                Chunk {
                    source,
                    first_line: 1,
                    text,
                },
                |event| {
                    if let Event::Line { record, .. } = event {
                        record.get(LogField::Code).clone_into(&mut found);
                    }
                },
            );
            found
        };
        assert_eq!(
            (code(0, "404 503 HTTP/1.1\n"), code(1, "404 503 HTTP/1.1\n")),
            ("503".to_owned(), "404".to_owned())
        );
        assert_eq!(
            code(0, "404 503 HTTP/1.1\n"),
            "503",
            "whatever came in between"
        );
    }
}
