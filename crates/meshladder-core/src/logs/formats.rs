//! The formats that a mesh's own settings name.

use crate::access_log::Format;
use crate::doc::tree::{Member, Node, Value};
use crate::mesh::config::config_maps;
use crate::mesh::{Mesh, MeshConfig};

/// `accessLogFormat` of every revision's `MeshConfig`, and those of `envoyFileAccessLog` providers, which Telemetry picks
/// from. With what cannot be compiled.
pub fn of_mesh(mesh: &Mesh) -> (Vec<Format>, Vec<String>) {
    let maps: Vec<MeshConfig> = config_maps(&mesh.objects).map(|(_, map)| MeshConfig::of_config_map(map)).collect();
    let trees = maps.iter().chain([&mesh.config]).filter_map(|config| config.tree.as_ref());
    let mut texts: Vec<String> = trees.flat_map(|tree| own(tree).into_iter().chain(of_providers(tree))).collect();
    texts.sort();
    texts.dedup();
    let (mut formats, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match Format::compile(&text) {
            Ok(format) => formats.push(format),
            Err(why) => problems.push(format!("a format of MeshConfig cannot be used: {why}")),
        }
    }
    (formats, problems)
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
