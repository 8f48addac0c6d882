//! Whether `applyTo`, `match` and `patch` of an EnvoyFilter line up.

use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{filled, first, has, set, text};
use crate::schema::text::TextRule;
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::Node;

pub(super) fn config_patch<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let apply_to = text(node, "applyTo");
    if let Some(invalid) = node.get("applyTo").filter(|_| apply_to == "INVALID") {
        walk.fault(
            Flaw::InvalidValue,
            invalid,
            "is \"INVALID\", which applies to nothing",
        );
    }
    if let Some(patch) = set(node, "patch") {
        operation(patch, walk);
    }
    if let Some(conditions) = set(node, "match") {
        fits(apply_to, conditions, walk);
        if let Some(filter) = conditions.at(["listener", "filterChain", "filter"]) {
            filter_match(apply_to, filter, walk);
        }
    }
}

/// "missing patch value for non-remove operation"
fn operation<'n>(patch: &'n Node, walk: &mut SchemaWalk<'n>) {
    match text(patch, "operation") {
        "INVALID" => {
            let operation = patch.get("operation").unwrap_or(patch);
            walk.fault(
                Flaw::InvalidValue,
                operation,
                "is \"INVALID\", which does nothing",
            );
        }
        "" | "REMOVE" => {}
        operation if !has(patch, "value") => {
            walk.fault(
                Flaw::MissingField,
                patch,
                format!("has operation {operation} and lacks value"),
            );
        }
        _ => {}
    }
}

/// "applyTo for listener class objects cannot have non listener match"
fn fits<'n>(apply_to: &str, conditions: &'n Node, walk: &mut SchemaWalk<'n>) {
    let wanted = match apply_to {
        "LISTENER" | "FILTER_CHAIN" | "NETWORK_FILTER" | "HTTP_FILTER" | "LISTENER_FILTER" => {
            "listener"
        }
        "ROUTE_CONFIGURATION" | "VIRTUAL_HOST" | "HTTP_ROUTE" => "routeConfiguration",
        "CLUSTER" => "cluster",
        _ => return,
    };
    let found = first(conditions, &["listener", "routeConfiguration", "cluster"]);
    if let Some((name, other)) = found.filter(|(name, _)| *name != wanted) {
        walk.fault(
            Flaw::Misfit,
            other,
            format!("matches a {name}, and applyTo {apply_to} goes by {wanted}"),
        );
    }
}

/// Inside which filter the HTTP filters are, by its name and by its old one.
const MANAGERS: [&str; 2] = [
    "envoy.filters.network.http_connection_manager",
    "envoy.http_connection_manager",
];

/// "filter match has no effect when used with …", "subfilter match can be used with applyTo
/// HTTP_FILTER only"
fn filter_match<'n>(apply_to: &str, filter: &'n Node, walk: &mut SchemaWalk<'n>) {
    if matches!(apply_to, "LISTENER" | "FILTER_CHAIN") {
        walk.fault(
            Flaw::NoEffect,
            filter,
            format!("has no effect with applyTo {apply_to}"),
        );
    }
    let Some(name) = filled(filter, "name") else {
        walk.fault(Flaw::MissingField, filter, "lacks name");
        return;
    };
    old_name(filter, walk);
    let Some(inner) = set(filter, "subFilter") else {
        return;
    };
    if apply_to != "HTTP_FILTER" {
        walk.fault(
            Flaw::Misfit,
            inner,
            format!("goes with applyTo HTTP_FILTER, and this is {apply_to}"),
        );
    } else if !name.str().is_some_and(|name| MANAGERS.contains(&name)) {
        walk.fault(
            Flaw::Misfit,
            inner,
            format!(
                "goes with the filter {}, and this is {}",
                MANAGERS[0],
                shown(name)
            ),
        );
    }
    old_name(inner, walk);
}

fn old_name<'n>(filter: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(name) = filter.get("name") else {
        return;
    };
    if let Some(better) = name.str().and_then(current_name) {
        walk.value_fault(Flaw::Deprecated, name, format!("an old name of {better}"));
    }
}

/// The name that Envoy gave a filter since.
fn current_name(old: &str) -> Option<&'static str> {
    const RENAMED: [(&str, &str); 23] = [
        ("envoy.buffer", "envoy.filters.http.buffer"),
        (
            "envoy.client_ssl_auth",
            "envoy.filters.network.client_ssl_auth",
        ),
        ("envoy.cors", "envoy.filters.http.cors"),
        ("envoy.csrf", "envoy.filters.http.csrf"),
        ("envoy.echo", "envoy.filters.network.echo"),
        ("envoy.ext_authz", "envoy.filters.http.ext_authz"),
        ("envoy.fault", "envoy.filters.http.fault"),
        (
            "envoy.grpc_http1_bridge",
            "envoy.filters.http.grpc_http1_bridge",
        ),
        (
            "envoy.grpc_json_transcoder",
            "envoy.filters.http.grpc_json_transcoder",
        ),
        ("envoy.grpc_web", "envoy.filters.http.grpc_web"),
        ("envoy.gzip", "envoy.filters.http.gzip"),
        ("envoy.health_check", "envoy.filters.http.health_check"),
        (
            "envoy.http_connection_manager",
            "envoy.filters.network.http_connection_manager",
        ),
        ("envoy.ip_tagging", "envoy.filters.http.ip_tagging"),
        (
            "envoy.listener.original_dst",
            "envoy.filters.listener.original_dst",
        ),
        (
            "envoy.listener.proxy_protocol",
            "envoy.filters.listener.proxy_protocol",
        ),
        (
            "envoy.listener.tls_inspector",
            "envoy.filters.listener.tls_inspector",
        ),
        ("envoy.lua", "envoy.filters.http.lua"),
        ("envoy.mongo_proxy", "envoy.filters.network.mongo_proxy"),
        ("envoy.redis_proxy", "envoy.filters.network.redis_proxy"),
        ("envoy.router", "envoy.filters.http.router"),
        ("envoy.squash", "envoy.filters.http.squash"),
        ("envoy.tcp_proxy", "envoy.filters.network.tcp_proxy"),
    ];
    RENAMED
        .iter()
        .find(|(name, _)| *name == old)
        .map(|(_, name)| *name)
}

/// "invalid regex for proxy version"
pub(super) fn proxy_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(version) = filled(node, "proxyVersion") else {
        return;
    };
    if let Some((flaw, what)) = version
        .str()
        .and_then(|pattern| TextRule::Regex.problem(pattern))
    {
        walk.fault(flaw, version, what);
    }
}
