//! What a route does with a request, aspect by aspect, so that of two routes only what differs is
//! told.

use std::collections::{BTreeMap, BTreeSet};

use super::host;
use meshladder_text::tree::{Node, Value};

/// What a route does besides choosing clusters: where that stands, and the word for it.
const ASPECTS: [(&str, &str); 4] = [
    ("/route/timeout", "timeout"),
    ("/route/prefix_rewrite", "path rewritten to"),
    ("/route/host_rewrite_literal", "host rewritten to"),
    ("/route/retry_policy/num_retries", "retries"),
];

/// `0 % goes to v2 of catalog…:8080 on A, 10 % on B`; none when both do the same.
pub(super) fn change(a: &Node, b: &Node) -> Option<String> {
    let (Some(old), Some(new)) = (shares(a), shares(b)) else {
        let (old, new) = (in_words(a), in_words(b));
        return (old != new).then(|| format!("{old} on A, {new} on B"));
    };
    let mut said = Vec::new();
    let clusters: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for cluster in clusters {
        let [was, is] = [&old, &new].map(|side| side.get(cluster).copied().unwrap_or(0));
        if was != is {
            said.push((
                was > 0 && is > 0,
                format!("{was} % goes to {cluster} on A, {is} % on B"),
            ));
        }
    }
    // That one side sends nothing there is what people look for.
    said.sort_by_key(|(is_both, _)| *is_both);
    let mut said: Vec<String> = said.into_iter().map(|(_, text)| text).collect();
    for (pointer, word) in ASPECTS {
        let [was, is] =
            [a, b].map(|route| aspect(route, pointer).unwrap_or_else(|| "not set".to_owned()));
        if was != is {
            said.push(format!("{word} {was} on A, {is} on B"));
        }
    }
    match (has_fault(a), has_fault(b)) {
        (true, false) => said.push("only A injects a fault".to_owned()),
        (false, true) => said.push("only B injects a fault".to_owned()),
        _ => {}
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// All that a route does: `90 % to v1 of catalog…:8080, 10 % to v2 of catalog…:8080, timeout 5s`.
pub(super) fn in_words(route: &Node) -> String {
    if let Some(direct) = route.get("direct_response") {
        return format!(
            "answers {}",
            direct.get("status").map(Node::to_json).unwrap_or_default()
        );
    }
    if route.get("redirect").is_some() {
        return "redirects".to_owned();
    }
    let Some(shares) = shares(route) else {
        return "does nothing that is known here".to_owned();
    };
    let mut said: Vec<String> = shares
        .iter()
        .map(|(cluster, share)| format!("{share} % to {cluster}"))
        .collect();
    if said.is_empty() {
        said.push("goes nowhere".to_owned());
    }
    said.extend(
        ASPECTS
            .iter()
            .filter_map(|(pointer, word)| Some(format!("{word} {}", aspect(route, pointer)?))),
    );
    if has_fault(route) {
        said.push("with an injected fault".to_owned());
    }
    said.join(", ")
}

/// The clusters that a route forwards to and the percentage each gets.
fn shares(route: &Node) -> Option<BTreeMap<String, u64>> {
    let forward = route.get("route")?;
    if let Some(cluster) = forward.str_at("cluster") {
        return Some(BTreeMap::from([(host(cluster), 100)]));
    }
    let clusters = forward
        .at(["weighted_clusters", "clusters"])
        .map_or(&[][..], Node::items);
    let total: u64 = clusters.iter().map(weight).sum();
    let mut by_cluster: BTreeMap<String, u64> = BTreeMap::new();
    for cluster in clusters {
        *by_cluster
            .entry(host(cluster.str_at("name").unwrap_or_default()))
            .or_default() += weight(cluster);
    }
    for weight in by_cluster.values_mut() {
        *weight = (*weight * 100).checked_div(total).unwrap_or(0);
    }
    Some(by_cluster)
}

fn weight(cluster: &Node) -> u64 {
    match cluster.get("weight").map(|weight| &weight.value) {
        Some(Value::Number(text)) => text.parse().unwrap_or(0),
        _ => 0,
    }
}

fn aspect(route: &Node, pointer: &str) -> Option<String> {
    let value = route.pointer(pointer)?;
    Some(value.str().map_or_else(|| value.to_json(), str::to_owned))
}

fn has_fault(route: &Node) -> bool {
    route
        .at(["typed_per_filter_config", "envoy.filters.http.fault"])
        .is_some()
}
