//! The MATCH and CLUSTER columns of a route.

use meshladder_text::json::Raw;

/// The path part of a `RouteMatch`, as istioctl writes it.
pub(crate) fn describe_match(route_match: Raw<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    route_match.cursor().members(|key, value| match key {
        "prefix" => parts.extend(value.string().map(|p| format!("{p}*"))),
        "path_separated_prefix" => parts.extend(value.string().map(|p| format!("PathPrefix:{p}"))),
        "path" => parts.extend(value.string().map(String::from)),
        "safe_regex" => parts.extend(
            value
                .raw()
                .and_then(|r| r.string_at("regex"))
                .map(|r| format!("regex {r}")),
        ),
        "connect_matcher" => parts.push("CONNECT".to_owned()),
        "path_match_policy" => {
            let template = value
                .raw()
                .and_then(|p| p.at(["typed_config", "path_template"])?.string());
            parts.push(format!("template {}", template.unwrap_or_default()));
        }
        _ => {}
    });
    parts.join(" ")
}

/// Where a `RouteAction` leads.
pub(super) fn describe_action(action: Raw<'_>) -> String {
    let mut text = String::new();
    action.cursor().members(|key, value| match key {
        "cluster" => text = value.string().unwrap_or_default().into_owned(),
        "cluster_header" => text = format!("header {}", value.string().unwrap_or_default()),
        "weighted_clusters" => {
            let clusters = value.raw().into_iter().flat_map(|w| w.list("clusters"));
            text = clusters.map(weighted).collect::<Vec<_>>().join(", ");
        }
        _ => {}
    });
    text
}

/// `cluster 90`
pub(crate) fn weighted(cluster: Raw<'_>) -> String {
    let weight = cluster.get("weight").and_then(Raw::number).unwrap_or(0);
    format!("{} {weight}", cluster.string_at("name").unwrap_or_default())
}
