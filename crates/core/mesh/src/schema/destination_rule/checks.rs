//! What the fields of a DestinationRule must be to each other.

use std::net::IpAddr;

use crate::schema::common;
use crate::schema::fault::{Flaw, shown};
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
    if let Some(failover) = failover.filter(|_| !has(policy, "outlierDetection")) {
        walk.fault(
            Flaw::NoEffect,
            failover,
            "has no effect without outlierDetection beside loadBalancer",
        );
    }
}

pub(super) fn tunnel<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(protocol) =
        filled(node, "protocol").filter(|name| !matches!(name.str(), Some("CONNECT" | "POST")))
    {
        walk.fault(
            Flaw::InvalidValue,
            protocol,
            format!("is {}, not CONNECT or POST", shown(protocol)),
        );
    }
    let Some(host) = node.get("targetHost") else {
        return;
    };
    let name = host.str().unwrap_or_default();
    if let Some(what) = host_problem(name, false).filter(|_| name.parse::<IpAddr>().is_err()) {
        walk.fault(
            Flaw::InvalidHost,
            host,
            format!("is {}, {what}", shown(host)),
        );
    }
}

/// "use client protocol must not be true when H2UpgradePolicy is UPGRADE"
pub(super) fn http_settings<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let disagree = is_true(node, "useClientProtocol") && text(node, "h2UpgradePolicy") == "UPGRADE";
    if let Some(keep) = node.get("useClientProtocol").filter(|_| disagree) {
        walk.fault(
            Flaw::Misfit,
            keep,
            "keeps the client's protocol, and h2UpgradePolicy UPGRADE does not",
        );
    }
}

pub(super) fn outlier_detection<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(errors) = node
        .get("consecutiveErrors")
        .filter(|_| number(node, "consecutiveErrors") != Some(0.0))
    {
        let what =
            "is an old field; consecutiveGatewayErrors or consecutive5xxErrors has replaced it";
        walk.fault(Flaw::Deprecated, errors, what);
    }
    let counts =
        number(node, "consecutiveLocalOriginFailures").is_some_and(|failures| failures > 0.0);
    let counts = counts && !is_true(node, "splitExternalLocalOriginErrors");
    if let Some(failures) = node
        .get("consecutiveLocalOriginFailures")
        .filter(|_| counts)
    {
        walk.fault(
            Flaw::Misfit,
            failures,
            "counts only with splitExternalLocalOriginErrors: true",
        );
    }
}

pub(super) fn client_tls<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let mode = text(node, "mode");
    if !matches!(mode, "SIMPLE" | "MUTUAL") {
        return;
    }
    let by_name = filled(node, "credentialName");
    if is_true(node, "insecureSkipVerify") {
        let checked = filled(node, "caCertificates").or_else(|| set(node, "subjectAltNames"));
        if let Some(field) = checked.or_else(|| by_name.filter(|_| mode == "SIMPLE")) {
            walk.fault(
                Flaw::Misfit,
                field,
                "says how to verify the server, and insecureSkipVerify says not to",
            );
        }
    }
    if by_name.is_some() {
        for field in ["clientCertificate", "caCertificates", "privateKey", "caCrl"] {
            if let Some(file) = filled(node, field) {
                walk.fault(
                    Flaw::ExclusiveFields,
                    file,
                    "cannot stand beside credentialName",
                );
            }
        }
    } else if mode == "MUTUAL" {
        let missing: Vec<&str> = ["clientCertificate", "privateKey"]
            .into_iter()
            .filter(|field| filled(node, field).is_none())
            .collect();
        if !missing.is_empty() {
            walk.fault(
                Flaw::MissingField,
                node,
                format!("has mode MUTUAL and lacks {}", missing.join(" and ")),
            );
        }
    }
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
    if let Some(size) = node
        .get("minimumRingSize")
        .filter(|_| number(node, "minimumRingSize") != Some(0.0))
    {
        walk.fault(
            Flaw::Deprecated,
            size,
            "is an old field; ringHash.minimumRingSize has replaced it",
        );
        not_beside(node, "minimumRingSize", &["ringHash", "maglev"], walk);
    }
}

/// "tableSize must be a prime number for maglev"
pub(super) fn maglev<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(size) = node.get("tableSize") else {
        walk.fault(Flaw::MissingField, node, "lacks tableSize");
        return;
    };
    let is_prime = |n: u32| n > 1 && (2..=n.isqrt()).all(|divisor| !n.is_multiple_of(divisor));
    if size
        .to_json()
        .trim_matches('"')
        .parse()
        .is_ok_and(|n| n <= 5_000_010 && !is_prime(n))
    {
        walk.fault(
            Flaw::InvalidValue,
            size,
            format!("is {}, not a prime number", shown(size)),
        );
    }
}
