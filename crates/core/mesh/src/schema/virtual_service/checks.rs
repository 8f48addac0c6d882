//! What the fields of a VirtualService must be to each other.

use super::hosts;
use crate::schema::common;
use crate::schema::fault::Flaw;
use crate::schema::fields::{
    at_least_one, at_most_one, entries, filled, has, items, not_beside, number, set, text,
};
use crate::schema::header;
use crate::schema::text::TextRule;
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::{Node, Value};

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if items(spec, "hosts").is_empty() {
        // "This must be delegate - enforce delegate validations."
        for field in ["gateways", "tls", "tcp"] {
            if let Some(list) = entries(spec, field) {
                walk.fault(
                    Flaw::Misfit,
                    list,
                    "is for a VirtualService with hosts, and this one has none",
                );
            }
        }
    }
    if ["http", "tcp", "tls"]
        .iter()
        .all(|field| items(spec, field).is_empty())
    {
        walk.fault(Flaw::MissingField, spec, "lacks http, tcp or tls");
    }
    hosts::hosts(spec, walk);
    hosts::legacy_gateways(spec, walk);
    common::export_to(spec, walk);
}

pub(super) fn http_route<'n>(route: &'n Node, walk: &mut SchemaWalk<'n>) {
    let is_delegate = walk.object.spec_list("hosts").is_empty();
    match set(route, "delegate") {
        Some(delegate) if is_delegate => {
            walk.fault(
                Flaw::Misfit,
                delegate,
                "stands in a VirtualService that is delegated to itself",
            );
        }
        Some(_) => not_beside(route, "delegate", &["redirect", "route"], walk),
        None => one_action(route, walk),
    }
    not_beside(route, "mirror", &["mirrors"], walk);
    for field in ["mirrorPercent", "mirror_percent"] {
        if let Some(percent) = set(route, field) {
            walk.fault(
                Flaw::Deprecated,
                percent,
                "is an old field; mirrorPercentage.value has replaced it",
            );
        }
    }
    one_authority(route, walk);
    weights(route, walk);
}

fn one_action<'n>(route: &'n Node, walk: &mut SchemaWalk<'n>) {
    if has(route, "redirect") {
        not_beside(
            route,
            "redirect",
            &["route", "fault", "rewrite", "directResponse"],
            walk,
        );
    } else if has(route, "directResponse") {
        not_beside(
            route,
            "directResponse",
            &["route", "fault", "rewrite"],
            walk,
        );
    } else if items(route, "route").is_empty() {
        walk.fault(
            Flaw::MissingField,
            route,
            "lacks route, redirect or directResponse",
        );
    }
}

/// "authority header cannot be set multiple times"
fn one_authority<'n>(route: &'n Node, walk: &mut SchemaWalk<'n>) {
    let rewrite = route.get("rewrite");
    let mut is_set = rewrite.is_some_and(|rewrite| filled(rewrite, "authority").is_some());
    for field in ["set", "add"] {
        let Some(changes) = route.at(["headers", "request", field]) else {
            continue;
        };
        for change in changes.members() {
            if !header::is_authority(&change.key) {
                continue;
            }
            if is_set {
                let what = "sets the authority once more";
                walk.fault(Flaw::ExclusiveFields, &change.value, what);
            }
            is_set = true;
        }
    }
}

/// "total destination weight = 0"
pub(super) fn weights<'n>(route: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(list) = entries(route, "route") else {
        return;
    };
    // A single destination gets everything, whatever its weight.
    if list.items().len() < 2 {
        return;
    }
    for to in list.items() {
        if number(to, "weight").unwrap_or(0.0) != 0.0 {
            return;
        }
    }
    let what = "has several destinations, and the weights of all are 0";
    walk.fault(Flaw::Misfit, list, what);
}

pub(super) fn http_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    hosts::legacy_gateways(node, walk);
    let for_gateways = hosts::is_for_gateways(walk.object);
    for field in ["headers", "withoutHeaders"] {
        for header in node.get(field).map_or(&[][..], Node::members) {
            if header.value.value == Value::Null && field == "headers" {
                walk.fault(Flaw::WrongType, &header.value, "is null, not an object");
            }
            if header::is_claim(&header.key) && !for_gateways {
                walk.fault(
                    Flaw::Misfit,
                    &header.value,
                    "is a claim of a token, by which only gateways route",
                );
            }
        }
    }
}

pub(super) fn one_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(node, &["exact", "prefix", "regex"], walk);
}

/// "prefix string match should not be empty"
pub(super) fn string_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    one_match(node, walk);
    if let Some(prefix) = node.get("prefix")
        && prefix.str() == Some("")
    {
        let what = "is empty, and so is what it matches";
        walk.fault(Flaw::InvalidValue, prefix, what);
    }
}

pub(super) fn absent_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    string_match(node, walk);
    let Some(regex) = node.get("regex") else {
        return;
    };
    // For headers that must be absent Istio takes `*` for "any value", though RE2 does not.
    if let Some(pattern) = regex.str()
        && pattern != "*"
        && let Some((flaw, what)) = TextRule::Regex.problem(pattern)
    {
        walk.fault(flaw, regex, what);
    }
}

pub(super) fn origin_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    one_match(node, walk);
    if ["exact", "prefix", "regex"]
        .iter()
        .all(|field| filled(node, field).is_none())
    {
        walk.fault(Flaw::MissingField, node, "lacks exact, prefix or regex");
    }
}

pub(super) fn destination<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(host) = node.get("host")
        && host.str() == Some("*")
    {
        walk.value_fault(Flaw::InvalidHost, host, "and traffic is sent to one host");
    }
}

/// "percentage is neither 0.0, nor in range [0.0001, 100.0]"
pub(super) fn fault_percent<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(value) = node.get("value") else {
        return;
    };
    if number(node, "value").is_some_and(|value| value > 0.0 && value < 0.0001) {
        walk.value_fault(Flaw::InvalidValue, value, "less than 0.0001");
    }
}

pub(super) fn abort<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(node, &["httpStatus", "grpcStatus", "http2Error"], walk);
    if let Some(error) = set(node, "http2Error") {
        walk.fault(Flaw::InvalidValue, error, "is not supported by Istio");
    } else if !has(node, "httpStatus") && !has(node, "grpcStatus") {
        walk.fault(
            Flaw::NoEffect,
            node,
            "names no status, so nothing is aborted",
        );
    }
}

pub(super) fn delay<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(node, &["fixedDelay", "exponentialDelay"], walk);
    if let Some(delay) = set(node, "exponentialDelay") {
        walk.fault(Flaw::InvalidValue, delay, "is not supported by Istio");
    }
}

pub(super) fn redirect<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(node, &["port", "derivePort"], walk);
    let is_empty = ["uri", "authority", "scheme"]
        .iter()
        .all(|field| text(node, field).is_empty());
    if is_empty && !has(node, "port") && !has(node, "derivePort") {
        walk.fault(
            Flaw::MissingField,
            node,
            "lacks uri, authority, scheme or port",
        );
    }
    // 0 is a field that is not set.
    if let Some(code) = node.get("redirectCode")
        && let Some(status) = number(node, "redirectCode")
        && status != 0.0
        && !(300.0..=399.0).contains(&status)
    {
        walk.value_fault(Flaw::InvalidValue, code, "not a status from 300 to 399");
    }
    if let Some(scheme) = filled(node, "scheme")
        && !matches!(scheme.str(), Some("http" | "https"))
    {
        walk.value_fault(Flaw::InvalidValue, scheme, "not http or https");
    }
}

/// "http retry policy configured when attempts are set to 0 (disabled)"
pub(super) fn retry<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let is_off = number(node, "attempts").unwrap_or(0.0) == 0.0;
    let asks = has(node, "perTryTimeout")
        || filled(node, "retryOn").is_some()
        || has(node, "retryRemoteLocalities");
    if is_off && asks {
        walk.fault(
            Flaw::Misfit,
            node,
            "says how to retry, but attempts is 0 or missing, so nothing is retried",
        );
    }
    let Some(retry_on) = node.get("retryOn") else {
        return;
    };
    for policy in text(node, "retryOn").split(',') {
        if !policy.is_empty() && !is_retry_policy(policy) {
            let what = format!("has `{policy}`, which is no reason to retry");
            walk.fault(Flaw::InvalidValue, retry_on, what);
        }
    }
}

fn is_retry_policy(policy: &str) -> bool {
    const POLICIES: [&str; 16] = [
        "5xx",
        "cancelled",
        "connect-failure",
        "deadline-exceeded",
        "envoy-ratelimited",
        "gateway-error",
        "http3-post-connect-failure",
        "internal",
        "refused-stream",
        "reset",
        "reset-before-request",
        "resource-exhausted",
        "retriable-4xx",
        "retriable-headers",
        "retriable-status-codes",
        "unavailable",
    ];
    POLICIES.contains(&policy) || policy.parse().is_ok_and(is_status)
}

/// The statuses that have a name.
fn is_status(status: u16) -> bool {
    matches!(status, 100..=103 | 200..=208 | 226 | 300..=305 | 307 | 308 | 400..=418 | 421..=426 | 428 | 429 | 431 | 451 | 500..=508 | 510 | 511)
}

pub(super) fn rewrite<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if filled(node, "uri").is_some() {
        not_beside(node, "uri", &["uriRegexRewrite"], walk);
    } else if filled(node, "authority").is_none() {
        at_least_one(node, &["uri", "uriRegexRewrite", "authority"], walk);
    }
}
