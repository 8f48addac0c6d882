//! Outlier detection: what DestinationRules say of it.

use crate::rules::Facts;
use meshladder_mesh::Object;
use meshladder_mesh::scope::Scope;
use meshladder_text::tree::{Node, Value};

/// `outlierDetection` that holds for a client's calls, with the rule it stands in.
pub(super) fn of_client<'f>(
    facts: &Facts<'f>,
    client: Scope<'f>,
    host: &str,
    port: Option<u16>,
    subset: &str,
) -> Option<(&'f Object, &'f Node)> {
    let subset = Some(subset).filter(|subset| !subset.is_empty());
    facts
        .mesh
        .destination_rule(client, host)?
        .setting("outlierDetection", port?, subset)
}

/// `maxEjectionPercent`; "Defaults to 10%."
pub(super) fn max_ejection_percent(detection: &Node) -> u64 {
    whole(detection, "maxEjectionPercent").unwrap_or(10)
}

/// Whether every one of that many hosts may be ejected: a host is, as long as fewer than the share
/// are.
pub(super) fn permits_all(detection: &Node, hosts: usize) -> bool {
    let hosts = hosts as u64;
    hosts > 0 && (hosts - 1) * 100 < max_ejection_percent(detection) * hosts
}

/// A member that is a whole number.
pub(super) fn whole(node: &Node, key: &str) -> Option<u64> {
    match &node.get(key)?.value {
        Value::Number(text) | Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::permits_all;
    use meshladder_text::json::Raw;
    use meshladder_text::tree::Node;

    #[test]
    fn a_share_below_all_leaves_a_host() {
        for (percent, hosts, all) in [
            (100, 2, true),
            (50, 2, false),
            (51, 2, true),
            (10, 1, true),
            (66, 3, false),
            (90, 0, false),
        ] {
            let json = format!("{{\"maxEjectionPercent\":{percent}}}");
            let node = Node::from_json(Raw::of(&json).expect("JSON")).expect("a tree");
            assert_eq!(permits_all(&node, hosts), all, "{percent} % of {hosts}");
        }
    }
}
