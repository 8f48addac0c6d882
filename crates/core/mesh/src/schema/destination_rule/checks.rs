//! What the fields of a DestinationRule must be to each other.

use std::net::IpAddr;

use crate::schema::common;
use crate::schema::fault::Flaw;
use crate::schema::fields::{
    all_different, at_least_one, at_most_one, entries, filled, has, is_true, items, not_beside,
    number, set, text,
};
use crate::schema::names::host_problem;
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::Node;

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    all_different(items(spec, "subsets"), |subset| subset.get("name"), walk);
    common::export_to(spec, walk);
}

/// "traffic policy must have at least one field", "tunnel and proxyProtocol must not be set
/// together"
pub(super) fn traffic_policy<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if node.members().is_empty() {
        walk.fault(Flaw::MissingField, node, "is empty");
    }
    not_beside(node, "tunnel", &["proxyProtocol"], walk);
    failover_needs_detection(node, walk);
}

pub(super) fn port_policy<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_least_one(
        node,
        &["outlierDetection", "connectionPool", "loadBalancer", "tls"],
        walk,
    );
    failover_needs_detection(node, walk);
}

/// "outlier detection policy must be provided for failover"
fn failover_needs_detection<'n>(policy: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(locality) = policy.at(["loadBalancer", "localityLbSetting"]) else {
        return;
    };
    let failover = entries(locality, "failover").or_else(|| entries(locality, "failoverPriority"));
    // Only outlier detection tells Envoy that a locality's hosts are unhealthy.
    if let Some(failover) = failover
        && !has(policy, "outlierDetection")
    {
        let what = "has no effect without outlierDetection beside loadBalancer";
        walk.fault(Flaw::NoEffect, failover, what);
    }
}

pub(super) fn tunnel<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(protocol) = filled(node, "protocol")
        && !matches!(protocol.str(), Some("CONNECT" | "POST"))
    {
        walk.value_fault(Flaw::InvalidValue, protocol, "not CONNECT or POST");
    }
    let Some(host) = node.get("targetHost") else {
        return;
    };
    let name = host.str().unwrap_or_default();
    if name.parse::<IpAddr>().is_err()
        && let Some(what) = host_problem(name, false)
    {
        walk.value_fault(Flaw::InvalidHost, host, what.clone());
    }
}

/// "use client protocol must not be true when H2UpgradePolicy is UPGRADE"
pub(super) fn http_settings<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(keep) = node.get("useClientProtocol")
        && is_true(node, "useClientProtocol")
        && text(node, "h2UpgradePolicy") == "UPGRADE"
    {
        let what = "keeps the client's protocol, and h2UpgradePolicy UPGRADE does not";
        walk.fault(Flaw::Misfit, keep, what);
    }
}

pub(super) fn outlier_detection<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(errors) = node.get("consecutiveErrors")
        && number(node, "consecutiveErrors") != Some(0.0)
    {
        let what =
            "is an old field; consecutiveGatewayErrors or consecutive5xxErrors has replaced it";
        walk.fault(Flaw::Deprecated, errors, what);
    }
    if let Some(failures) = node.get("consecutiveLocalOriginFailures")
        && number(node, "consecutiveLocalOriginFailures").is_some_and(|count| count > 0.0)
        && !is_true(node, "splitExternalLocalOriginErrors")
    {
        let what = "counts only with splitExternalLocalOriginErrors: true";
        walk.fault(Flaw::Misfit, failures, what);
    }
}

pub(super) fn client_tls<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let mode = text(node, "mode");
    if !matches!(mode, "SIMPLE" | "MUTUAL") {
        return;
    }
    if is_true(node, "insecureSkipVerify")
        && let Some(field) = verification(node, mode)
    {
        let what = "says how to verify the server, and insecureSkipVerify says not to";
        walk.fault(Flaw::Misfit, field, what);
    }
    if filled(node, "credentialName").is_some() {
        for field in ["clientCertificate", "caCertificates", "privateKey", "caCrl"] {
            if let Some(file) = filled(node, field) {
                let what = "cannot stand beside credentialName";
                walk.fault(Flaw::ExclusiveFields, file, what);
            }
        }
    } else if mode == "MUTUAL" {
        let mut missing = Vec::new();
        for field in ["clientCertificate", "privateKey"] {
            if filled(node, field).is_none() {
                missing.push(field);
            }
        }
        if !missing.is_empty() {
            let what = format!("has mode MUTUAL and lacks {}", missing.join(" and "));
            walk.fault(Flaw::MissingField, node, what);
        }
    }
}

/// The field that says how the server is verified. With SIMPLE a credential holds nothing else.
fn verification<'n>(node: &'n Node, mode: &str) -> Option<&'n Node> {
    let field = filled(node, "caCertificates").or_else(|| set(node, "subjectAltNames"));
    if field.is_none() && mode == "SIMPLE" {
        return filled(node, "credentialName");
    }
    field
}

pub(super) fn consistent_hash<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(
        node,
        &[
            "httpHeaderName",
            "httpCookie",
            "useSourceIp",
            "httpQueryParameterName",
        ],
        walk,
    );
    at_most_one(node, &["ringHash", "maglev"], walk);
    if let Some(size) = node.get("minimumRingSize")
        && number(node, "minimumRingSize") != Some(0.0)
    {
        walk.fault(
            Flaw::Deprecated,
            size,
            "is an old field; ringHash.minimumRingSize has replaced it",
        );
        not_beside(node, "minimumRingSize", &["ringHash", "maglev"], walk);
    }
}

fn is_prime(number: u32) -> bool {
    number > 1 && (2..=number.isqrt()).all(|divisor| !number.is_multiple_of(divisor))
}

/// "tableSize must be a prime number for maglev"
pub(super) fn maglev<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(size) = node.get("tableSize") else {
        walk.fault(Flaw::MissingField, node, "lacks tableSize");
        return;
    };
    let written = size.to_json();
    // What is larger was told to be out of range.
    if let Ok(number) = written.trim_matches('"').parse()
        && number <= 5_000_010
        && !is_prime(number)
    {
        walk.value_fault(Flaw::InvalidValue, size, "not a prime number");
    }
}
