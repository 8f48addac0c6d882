//! What the fields of a Sidecar must be to each other.

use std::net::IpAddr;

use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{
    all_different, entries, filled, has, is_true, items, number, set, text,
};
use crate::schema::gateway::{hostname, is_socket};
use crate::schema::names::{host_problem, protocol};
use crate::schema::walk::SchemaWalk;
use crate::services::Protocol;
use meshladder_text::tree::Node;

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let (ingress, egress) = (items(spec, "ingress"), items(spec, "egress"));
    let says_else = has(spec, "outboundTrafficPolicy") || has(spec, "inboundConnectionPool");
    if ingress.is_empty() && egress.is_empty() && !says_else {
        walk.fault(
            Flaw::MissingField,
            spec,
            "lacks egress, ingress, outboundTrafficPolicy or inboundConnectionPool",
        );
    }
    all_different(ingress, |listener| listener.at(["port", "number"]), walk);
    let is_port = |port: &Node| !matches!(port.to_json().as_str(), "0" | "\"0\"");
    all_different(
        egress,
        |listener| listener.at(["port", "number"]).filter(|port| is_port(port)),
        walk,
    );
    for (at, listener) in egress
        .iter()
        .enumerate()
        .filter(|(_, listener)| !has(listener, "port"))
    {
        if at + 1 < egress.len() {
            walk.fault(
                Flaw::Misfit,
                listener,
                "has no port, so it takes what others leave, and it is not the last",
            );
        }
    }
}

pub(super) fn egress<'n>(listener: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(port) = set(listener, "port") {
        no_target_port(port, walk);
        bind(listener, port, walk);
    }
    hosts(listener, walk);
}

fn bind<'n>(listener: &'n Node, port: &'n Node, walk: &mut SchemaWalk<'n>) {
    let bind = text(listener, "bind");
    let is_unset = number(port, "number").is_none_or(|number| number == 0.0);
    if !is_unset {
        in_range(port, walk);
        if let Some(bind) = filled(listener, "bind").filter(|_| bind.parse::<IpAddr>().is_err()) {
            walk.fault(
                Flaw::InvalidValue,
                bind,
                format!("is {}, not an IP address", shown(bind)),
            );
        }
    } else if !bind.strip_prefix("unix://").is_some_and(is_socket) {
        walk.fault(
            Flaw::Misfit,
            port,
            "has no number, and bind names no unix socket",
        );
    } else if let Some(mode) = listener
        .get("captureMode")
        .filter(|mode| mode.str() == Some("IPTABLES"))
    {
        walk.fault(
            Flaw::Misfit,
            mode,
            "is IPTABLES, and traffic to a unix socket is not captured",
        );
    }
}

fn in_range<'n>(port: &'n Node, walk: &mut SchemaWalk<'n>) {
    let is_port = number(port, "number").is_some_and(|number| (1.0..=65535.0).contains(&number));
    if !is_port {
        let node = port.get("number").unwrap_or(port);
        walk.fault(Flaw::InvalidValue, node, "is not a port, 1 to 65535");
    }
}

/// "targetPort has no impact on Sidecars"
fn no_target_port<'n>(port: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(target) = port
        .get("targetPort")
        .filter(|_| number(port, "targetPort").is_some_and(|n| n > 0.0))
    {
        walk.fault(
            Flaw::Misfit,
            target,
            "is set, and a Sidecar has no use for it",
        );
    }
}

/// Where objects for the whole mesh are, unless `MeshConfig` says otherwise.
const ROOT_NAMESPACE: &str = "istio-system";

/// "duplicated egress host", "`*/*` host select all resources, no other hosts can be added"
fn hosts<'n>(listener: &'n Node, walk: &mut SchemaWalk<'n>) {
    let own = walk.object.id.namespace.as_str();
    let is_for_mesh = own == ROOT_NAMESPACE && walk.object.spec_at(["workloadSelector"]).is_none();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for host in items(listener, "hosts") {
        let Some(entry) = host.str() else { continue };
        if let Some(what) = hostname(entry, false) {
            walk.fault(
                Flaw::InvalidHost,
                host,
                format!("is {}, {what}", shown(host)),
            );
            continue;
        }
        let Some((namespace, name)) = entry.split_once('/') else {
            continue;
        };
        // A Sidecar for the whole mesh means by `.` the namespace of each workload.
        let namespace = if namespace == "." && !is_for_mesh {
            own
        } else {
            namespace
        };
        let is_held = |(other, held): &&(&str, &str)| {
            *other == namespace && (*held == name || *held == "*" || name == "*")
                || (*other, *held) == ("*", "*")
        };
        if let Some((other, held)) = seen.iter().find(is_held) {
            walk.fault(
                Flaw::NoEffect,
                host,
                format!(
                    "is {}, beside {other}/{held} which overlaps it",
                    shown(host)
                ),
            );
        } else if (namespace, name) == ("*", "*") && !seen.is_empty() {
            walk.fault(
                Flaw::NoEffect,
                host,
                "is \"*/*\", which makes the hosts before it say nothing",
            );
        }
        seen.push((namespace, name));
    }
}

pub(super) fn ingress<'n>(listener: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(port) = set(listener, "port") {
        no_target_port(port, walk);
        in_range(port, walk);
        let is_http = protocol(text(port, "protocol")).is_some_and(Protocol::is_http);
        if let Some(http) = listener.at(["connectionPool", "http"]).filter(|_| !is_http) {
            walk.fault(
                Flaw::NoEffect,
                http,
                "has no effect: the port's protocol is not HTTP",
            );
        }
    }
    if let Some(endpoint) =
        filled(listener, "defaultEndpoint").filter(|endpoint| !endpoint.str().is_some_and(is_local))
    {
        let what = format!(
            "is {}, not 127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT, :PORT or unix://PATH",
            shown(endpoint)
        );
        walk.fault(Flaw::InvalidValue, endpoint, what);
    }
    let Some(tls) = set(listener, "tls") else {
        return;
    };
    let unused = [
        entries(tls, "subjectAltNames"),
        tls.get("httpsRedirect")
            .filter(|_| is_true(tls, "httpsRedirect")),
    ];
    let unused = unused
        .into_iter()
        .chain(["credentialNames", "tlsCertificates"].map(|field| entries(tls, field)));
    for field in unused.flatten().chain(filled(tls, "credentialName")) {
        walk.fault(
            Flaw::Misfit,
            field,
            "is set, and the ingress of a Sidecar does not support it",
        );
    }
    let is_plain = |protocol: &&Node| !matches!(protocol.str(), Some("HTTPS" | "TLS"));
    if let Some(protocol) = listener.at(["port", "protocol"]).filter(is_plain) {
        walk.fault(
            Flaw::Misfit,
            tls,
            format!("is set, and the port's protocol is {}", shown(protocol)),
        );
    }
    if let Some(mode) = tls
        .get("mode")
        .filter(|mode| matches!(mode.str(), Some("ISTIO_MUTUAL" | "AUTO_PASSTHROUGH")))
    {
        walk.fault(
            Flaw::Misfit,
            mode,
            format!("is {}, which is for gateways", shown(mode)),
        );
    }
}

fn is_local(endpoint: &str) -> bool {
    if let Some(socket) = endpoint.strip_prefix("unix://") {
        return is_socket(socket);
    }
    let Some((host, port)) = endpoint.rsplit_once(':') else {
        return false;
    };
    let is_here = matches!(host, "" | "127.0.0.1" | "0.0.0.0" | "[::1]" | "[::]");
    is_here && port.parse::<u16>().is_ok_and(|port| port > 0)
}

pub(super) fn outbound<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(proxy) = set(node, "egressProxy") else {
        return;
    };
    if text(node, "mode") != "ALLOW_ANY" {
        walk.fault(Flaw::Misfit, proxy, "goes with mode ALLOW_ANY only");
        return;
    }
    // What is no host at all was told by a look at the destination.
    let is_pattern =
        |name: &str| name.starts_with('*') && host_problem(name, true).is_none() && name != "*";
    if let Some(host) = proxy
        .get("host")
        .filter(|host| host.str().is_some_and(is_pattern))
    {
        walk.fault(
            Flaw::InvalidHost,
            host,
            format!("is {}, not the full name of a host", shown(host)),
        );
    }
    if !has(proxy, "port") {
        walk.fault(Flaw::MissingField, proxy, "lacks port");
    }
}
