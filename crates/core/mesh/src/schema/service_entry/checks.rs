//! What the fields of a ServiceEntry must be to each other.

use std::net::IpAddr;

use crate::schema::common;
use crate::schema::fault::Flaw;
use crate::schema::fields::{all_different, entries, filled, has, items, number, set, text};
use crate::schema::names::{host_problem, is_tls, protocol};
use crate::schema::walk::SchemaWalk;
use crate::services::Protocol;
use meshladder_text::tree::Node;

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(endpoints) = set(spec, "endpoints")
        && has(spec, "workloadSelector")
    {
        let what = "cannot stand beside workloadSelector";
        walk.fault(Flaw::ExclusiveFields, endpoints, what);
    }
    hosts(spec, walk);
    all_different(items(spec, "ports"), |port| port.get("name"), walk);
    all_different(items(spec, "ports"), |port| port.get("number"), walk);
    resolution(spec, walk);
    several_hosts(spec, walk);
    common::export_to(spec, walk);
}

/// "Full wildcard is not allowed in the service entry.", "partial wildcard not allowed"
fn hosts<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    for host in items(spec, "hosts") {
        let Some(name) = host.str() else { continue };
        if name == "*" {
            walk.fault(
                Flaw::InvalidHost,
                host,
                "is \"*\", and a ServiceEntry is for hosts of its own",
            );
        } else if let Some(what) = host_problem(name, true) {
            walk.value_fault(Flaw::InvalidHost, host, what.clone());
        } else if name.starts_with('*') && !name.starts_with("*.") {
            walk.value_fault(
                Flaw::NoEffect,
                host,
                "which only HTTP takes for a wildcard: `*` stands for whole labels",
            );
        }
    }
}

fn resolution<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let resolution = text(spec, "resolution");
    let resolution = match resolution {
        "" => "NONE",
        resolution => resolution,
    };
    if !matches!(resolution, "NONE" | "STATIC") {
        for address in items(spec, "addresses") {
            if address.str().is_some_and(|text| text.contains('/')) {
                let what = format!("is a range, which resolution {resolution} does not take");
                walk.fault(Flaw::Misfit, address, what);
            }
        }
    }
    match resolution {
        "NONE" => no_resolution(spec, walk),
        "STATIC" => static_endpoints(spec, walk),
        "DNS" | "DNS_ROUND_ROBIN" => dns(spec, resolution, walk),
        _ => {}
    }
    if let Some(selector) = set(spec, "workloadSelector")
        && matches!(resolution, "NONE" | "DNS" | "DNS_ROUND_ROBIN")
    {
        let what = format!("does not go with resolution {resolution}: STATIC looks workloads up");
        walk.fault(Flaw::NoEffect, selector, what);
    }
}

/// "no endpoints should be provided for resolution type none": traffic goes where the client sent
/// it.
fn no_resolution<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(endpoints) = entries(spec, "endpoints") {
        let what = "is set, and resolution NONE takes no endpoints";
        walk.fault(Flaw::Misfit, endpoints, what);
    }
    for port in items(spec, "ports") {
        if let Some(target) = port.get("targetPort")
            && number(port, "targetPort").is_some_and(|n| n > 0.0)
        {
            walk.fault(Flaw::NoEffect, target, "has no effect with resolution NONE");
        }
    }
}

fn static_endpoints<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    for endpoint in items(spec, "endpoints") {
        let address = text(endpoint, "address");
        let is_good = address.is_empty()
            || address.starts_with("unix://")
            || address.parse::<IpAddr>().is_ok();
        if let Some(node) = endpoint.get("address")
            && !is_good
        {
            walk.value_fault(
                Flaw::Misfit,
                node,
                "and resolution STATIC takes IP addresses",
            );
        }
        if address.starts_with("unix://") && items(spec, "ports").len() != 1 {
            walk.fault(
                Flaw::Misfit,
                endpoint,
                "is a unix socket, and the ServiceEntry has not exactly one port",
            );
        }
    }
    endpoint_ports(spec, walk);
}

/// "hosts must be FQDN if no endpoints are provided", "there must only be 0 or 1 endpoint"
fn dns<'n>(spec: &'n Node, resolution: &str, walk: &mut SchemaWalk<'n>) {
    let endpoints = items(spec, "endpoints");
    if endpoints.is_empty() {
        for host in items(spec, "hosts") {
            if !host.str().is_some_and(|name| name.starts_with('*')) {
                continue;
            }
            walk.value_fault(
                Flaw::Misfit,
                host,
                format!("and resolution {resolution} without endpoints looks full names up"),
            );
        }
    }
    if resolution == "DNS_ROUND_ROBIN" && endpoints.len() > 1 {
        let list = spec.get("endpoints").unwrap_or(spec);
        walk.fault(
            Flaw::Misfit,
            list,
            format!(
                "has {} entries, and resolution {resolution} takes one",
                endpoints.len()
            ),
        );
    }
    for endpoint in endpoints {
        if let Some(node) = filled(endpoint, "address")
            && text(endpoint, "address").starts_with("unix://")
        {
            walk.value_fault(Flaw::Misfit, node, "which DNS does not resolve");
        }
    }
    endpoint_ports(spec, walk);
    if entries(spec, "addresses").is_some() && items(spec, "hosts").len() > 1 && has_tcp_port(spec)
    {
        let list = spec.get("hosts").unwrap_or(spec);
        walk.fault(
            Flaw::NoEffect,
            list,
            "has several hosts for one address and a TCP port, so all but one are ignored",
        );
    }
}

/// "endpoint port is not defined by the service entry"
fn endpoint_ports<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let ports = items(spec, "ports");
    for endpoint in items(spec, "endpoints") {
        for port in endpoint.get("ports").map_or(&[][..], Node::members) {
            let mut known = ports.iter();
            if !known.any(|known| known.str_at("name") == Some(&port.key)) {
                let what = format!("is for the port `{}`, which ports does not have", port.key);
                walk.fault(Flaw::Misfit, &port.value, what);
            }
        }
    }
}

/// "multiple hosts provided with non-HTTP, non-TLS ports"
fn several_hosts<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if matches!(text(spec, "resolution"), "" | "NONE") || items(spec, "hosts").len() < 2 {
        return;
    }
    for port in items(spec, "ports") {
        // HTTP has the host in the request, TLS in the SNI; nothing else says it.
        let names_host = protocol(text(port, "protocol")).is_some_and(|p| p.is_http() || is_tls(p));
        if !names_host {
            let what = "is neither HTTP nor TLS, so the several hosts cannot be told apart on it";
            walk.fault(Flaw::Misfit, port, what);
            return;
        }
    }
}

fn has_tcp_port(spec: &Node) -> bool {
    for port in items(spec, "ports") {
        if let Some(protocol) = protocol(text(port, "protocol"))
            && !protocol.is_http()
            && protocol != Protocol::Udp
        {
            return true;
        }
    }
    false
}
