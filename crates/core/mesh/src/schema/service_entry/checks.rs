//! What the fields of a ServiceEntry must be to each other.

use std::net::IpAddr;

use crate::schema::common;
use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{all_different, entries, filled, has, items, number, set, text};
use crate::schema::names::{host_problem, is_tls, protocol};
use crate::schema::walk::SchemaWalk;
use crate::services::Protocol;
use meshladder_text::tree::Node;

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(endpoints) = set(spec, "endpoints").filter(|_| has(spec, "workloadSelector")) {
        walk.fault(
            Flaw::ExclusiveFields,
            endpoints,
            "cannot stand beside workloadSelector",
        );
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
            walk.fault(
                Flaw::InvalidHost,
                host,
                format!("is {}, {what}", shown(host)),
            );
        } else if name.starts_with('*') && !name.starts_with("*.") {
            let what = format!(
                "is {}, which only HTTP takes for a wildcard: `*` stands for whole labels",
                shown(host)
            );
            walk.fault(Flaw::NoEffect, host, what);
        }
    }
}

fn resolution<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let resolution = text(spec, "resolution");
    if !matches!(resolution, "" | "NONE" | "STATIC") {
        for range in items(spec, "addresses")
            .iter()
            .filter(|node| node.str().is_some_and(|text| text.contains('/')))
        {
            walk.fault(
                Flaw::Misfit,
                range,
                format!("is a range, which resolution {resolution} does not take"),
            );
        }
    }
    let selector = set(spec, "workloadSelector");
    match resolution {
        "" | "NONE" => {
            if let Some(endpoints) = entries(spec, "endpoints") {
                walk.fault(
                    Flaw::Misfit,
                    endpoints,
                    "is set, and resolution NONE takes no endpoints",
                );
            }
            for port in items(spec, "ports")
                .iter()
                .filter(|port| number(port, "targetPort").is_some_and(|n| n > 0.0))
            {
                let target = port.get("targetPort").unwrap_or(port);
                walk.fault(Flaw::NoEffect, target, "has no effect with resolution NONE");
            }
        }
        "STATIC" => static_endpoints(spec, walk),
        "DNS" | "DNS_ROUND_ROBIN" => dns(spec, resolution, walk),
        _ => {}
    }
    if let Some(selector) =
        selector.filter(|_| matches!(resolution, "" | "NONE" | "DNS" | "DNS_ROUND_ROBIN"))
    {
        let resolution = if resolution.is_empty() {
            "NONE"
        } else {
            resolution
        };
        walk.fault(
            Flaw::NoEffect,
            selector,
            format!("does not go with resolution {resolution}: STATIC looks workloads up"),
        );
    }
}

fn static_endpoints<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    for endpoint in items(spec, "endpoints") {
        let address = text(endpoint, "address");
        let is_good = address.is_empty()
            || address.starts_with("unix://")
            || address.parse::<IpAddr>().is_ok();
        if let Some(node) = endpoint.get("address").filter(|_| !is_good) {
            walk.fault(
                Flaw::Misfit,
                node,
                format!(
                    "is {}, and resolution STATIC takes IP addresses",
                    shown(node)
                ),
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
        for host in items(spec, "hosts")
            .iter()
            .filter(|host| host.str().is_some_and(|name| name.starts_with('*')))
        {
            let what = format!(
                "is {}, and resolution {resolution} without endpoints looks full names up",
                shown(host)
            );
            walk.fault(Flaw::Misfit, host, what);
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
        let address = text(endpoint, "address");
        if let Some(node) = filled(endpoint, "address").filter(|_| address.starts_with("unix://")) {
            walk.fault(
                Flaw::Misfit,
                node,
                format!("is {}, which DNS does not resolve", shown(node)),
            );
        }
    }
    endpoint_ports(spec, walk);
    if entries(spec, "addresses").is_some()
        && items(spec, "hosts").len() > 1
        && has_port(spec, |protocol| {
            !protocol.is_http() && protocol != Protocol::Udp
        })
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
    for port in items(spec, "endpoints")
        .iter()
        .filter_map(|endpoint| endpoint.get("ports"))
        .flat_map(Node::members)
    {
        if !ports
            .iter()
            .any(|known| known.str_at("name") == Some(&port.key))
        {
            walk.fault(
                Flaw::Misfit,
                &port.value,
                format!("is for the port `{}`, which ports does not have", port.key),
            );
        }
    }
}

/// "multiple hosts provided with non-HTTP, non-TLS ports"
fn several_hosts<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    if matches!(text(spec, "resolution"), "" | "NONE") || items(spec, "hosts").len() < 2 {
        return;
    }
    let is_plain =
        |port: &Node| !protocol(text(port, "protocol")).is_some_and(|p| p.is_http() || is_tls(p));
    if let Some(port) = items(spec, "ports").iter().find(|port| is_plain(port)) {
        let what = "is neither HTTP nor TLS, so the several hosts cannot be told apart on it";
        walk.fault(Flaw::Misfit, port, what);
    }
}

fn has_port(spec: &Node, is: impl Fn(Protocol) -> bool) -> bool {
    items(spec, "ports")
        .iter()
        .filter_map(|port| protocol(text(port, "protocol")))
        .any(is)
}
