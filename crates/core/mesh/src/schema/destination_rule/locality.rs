//! Load balancing by locality.

use crate::schema::fault::Flaw;
use crate::schema::fields::{entries, items, not_beside, number, text};
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::{Node, Value};

/// "can not simultaneously specify 'distribute' and 'failover'"
pub(super) fn setting<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if entries(node, "distribute").is_some() {
        not_beside(node, "distribute", &["failover"], walk);
    }
    if entries(node, "failover").is_some() {
        for label in items(node, "failoverPriority") {
            let is_place = [
                "topology.kubernetes.io/region",
                "topology.kubernetes.io/zone",
                "topology.istio.io/subzone",
            ];
            if label.str().is_some_and(|label| is_place.contains(&label)) {
                walk.fault(
                    Flaw::ExclusiveFields,
                    label,
                    "orders by place, which failover does too",
                );
            }
        }
    }
    let from: Vec<&Node> = items(node, "distribute")
        .iter()
        .filter_map(|entry| entry.get("from"))
        .collect();
    let names: Vec<(&str, &Node)> = from
        .into_iter()
        .filter_map(|node| Some((node.str()?, node)))
        .collect();
    apart(&names, walk);
}

/// "total locality weight != 100"
pub(super) fn distribute<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(to) = node
        .get("to")
        .filter(|to| matches!(to.value, Value::Object(_)))
    else {
        walk.fault(
            Flaw::MissingField,
            node,
            "lacks to, and its weights add up to 100",
        );
        return;
    };
    let names: Vec<(&str, &Node)> = to
        .members()
        .iter()
        .map(|member| (&*member.key, &member.value))
        .collect();
    let total: f64 = names.iter().filter_map(|(name, _)| number(to, name)).sum();
    if !(100.0..=100.0).contains(&total) {
        walk.fault(
            Flaw::Misfit,
            to,
            format!("has weights that add up to {total}, not 100"),
        );
    }
    apart(&names, walk);
}

/// "locality lb failover only specify region"
pub(super) fn failover<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if text(node, "from") == text(node, "to") {
        walk.fault(Flaw::Misfit, node, "fails over from a region to the same");
    }
    for field in ["from", "to"] {
        if let Some(region) = node
            .get(field)
            .filter(|region| region.str().is_some_and(|name| name.contains(['/', '*'])))
        {
            walk.value_fault(Flaw::InvalidValue, region, "not the name of a region");
        }
    }
}

/// "must not contain empty region/zone/subzone info", "overlap with previous specified ones"
fn apart<'n>(localities: &[(&str, &'n Node)], walk: &mut SchemaWalk<'n>) {
    let mut before: Vec<&str> = Vec::new();
    for (name, node) in localities {
        let is_misplaced =
            name.matches('*').count() > 1 || name.contains('*') && !name.ends_with('*');
        if is_misplaced || name.splitn(3, '/').any(str::is_empty) {
            walk.fault(
                Flaw::InvalidValue,
                node,
                format!("is for `{name}`, not a locality such as region/zone/*"),
            );
        } else if let Some(other) = before.iter().find(|other| holds(other, name)) {
            walk.fault(
                Flaw::Duplicate,
                node,
                format!("is for `{name}`, which `{other}` before it is for too"),
            );
        }
        before.push(name);
    }
}

/// Whether an earlier locality holds a later one: `region` and `region/*` hold all of the region.
fn holds(earlier: &str, later: &str) -> bool {
    let stem = earlier
        .strip_suffix('*')
        .map_or(earlier, |stem| stem.trim_end_matches('/'));
    stem.is_empty()
        || later == stem
        || later
            .strip_prefix(stem)
            .is_some_and(|rest| rest.starts_with('/'))
}
