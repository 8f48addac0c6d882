//! Where pods are, and what DestinationRules make of it.

use meshladder_capture::Kind;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

const LABELS: [&str; 2] = [
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// `region/zone` of a pod, from its node, else from its own labels; empty when nobody says.
pub(super) fn of_pod(mesh: &Mesh, pod: &Object) -> String {
    let own = pod
        .label("istio-locality")
        .map(|label| label.replace('.', "/"));
    let node = pod
        .spec_at(["nodeName"])
        .and_then(Node::str)
        .and_then(|name| mesh.objects.get(Kind::Node, "", name));
    own.unwrap_or_else(|| {
        let source = node
            .filter(|node| node.label(LABELS[0]).is_some())
            .unwrap_or(pod);
        let parts = LABELS.iter().map_while(|label| source.label(label));
        parts.collect::<Vec<_>>().join("/")
    })
}

/// `localityLbSetting` of a DestinationRule's `loadBalancer`, else the mesh's.
pub(super) fn setting<'m>(mesh: &'m Mesh, load_balancer: Option<&'m Node>) -> Option<&'m Node> {
    let own = load_balancer.and_then(|node| node.get("localityLbSetting"));
    own.or_else(|| mesh.config.tree.as_ref()?.get("localityLbSetting"))
}

/// Whether endpoints near the client come first: "Enable locality load balancing. This is
/// DestinationRule-level and will override mesh wide settings in entirety." It is on unless it is
/// switched off.
pub(super) fn is_on(setting: Option<&Node>) -> bool {
    setting
        .and_then(|node| node.get("enabled"))
        .is_none_or(|on| on.value != Value::Bool(false))
}

/// Whether a pattern such as `us-east/*` covers a locality.
pub(super) fn covers(pattern: &str, locality: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => locality.starts_with(start) || format!("{locality}/") == start,
        None => locality == pattern || locality.starts_with(&format!("{pattern}/")),
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_region_covers_its_zones() {
        for (pattern, locality, covered) in [
            ("*", "us-east/a", true),
            ("us-east", "us-east/a", true),
            ("us-east/*", "us-east/a", true),
            ("us-east/*", "us-east", true),
            ("us-east/a", "us-east/b", false),
            ("us-e", "us-east", false),
        ] {
            assert_eq!(covers(pattern, locality), covered, "{pattern} {locality}");
        }
    }
}
