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
    all_different(egress, egress_port, walk);
    let Some((_, all_but_last)) = egress.split_last() else {
        return;
    };
    for listener in all_but_last {
        if !has(listener, "port") {
            let what = "has no port, so it takes what others leave, and it is not the last";
            walk.fault(Flaw::Misfit, listener, what);
        }
    }
}

/// The port's number; 0 goes with a unix socket, and several listeners may have it.
fn egress_port(listener: &Node) -> Option<&Node> {
    let number = listener.at(["port", "number"])?;
    if matches!(number.to_json().as_str(), "0" | "\"0\"") {
        return None;
    }
    Some(number)
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
    let is_set = number(port, "number").unwrap_or(0.0) != 0.0;
    if is_set {
        in_range(port, walk);
        if let Some(node) = filled(listener, "bind")
            && bind.parse::<IpAddr>().is_err()
        {
            walk.value_fault(Flaw::InvalidValue, node, "not an IP address");
        }
    } else if !bind.strip_prefix("unix://").is_some_and(is_socket) {
        walk.fault(
            Flaw::Misfit,
            port,
            "has no number, and bind names no unix socket",
        );
    } else if let Some(mode) = listener.get("captureMode")
        && mode.str() == Some("IPTABLES")
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
    if let Some(target) = port.get("targetPort")
        && number(port, "targetPort").is_some_and(|n| n > 0.0)
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
            walk.value_fault(Flaw::InvalidHost, host, what.clone());
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
        let mut before = seen.iter();
        if let Some((other, held)) =
            before.find(|before| hosts_overlap(**before, (namespace, name)))
        {
            walk.value_fault(
                Flaw::NoEffect,
                host,
                format!("beside {other}/{held} which overlaps it"),
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

/// Whether a host stands in one that was named before, or the other way round; each with its
/// namespace.
fn hosts_overlap(before: (&str, &str), host: (&str, &str)) -> bool {
    if before == ("*", "*") {
        return true;
    }
    before.0 == host.0 && (before.1 == host.1 || before.1 == "*" || host.1 == "*")
}

pub(super) fn ingress<'n>(listener: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(port) = set(listener, "port") {
        no_target_port(port, walk);
        in_range(port, walk);
        let is_http = protocol(text(port, "protocol")).is_some_and(Protocol::is_http);
        if let Some(http) = listener.at(["connectionPool", "http"])
            && !is_http
        {
            let what = "has no effect: the port's protocol is not HTTP";
            walk.fault(Flaw::NoEffect, http, what);
        }
    }
    if let Some(endpoint) = filled(listener, "defaultEndpoint")
        && !endpoint.str().is_some_and(is_local)
    {
        walk.value_fault(
            Flaw::InvalidValue,
            endpoint,
            "not 127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT, :PORT or unix://PATH",
        );
    }
    if let Some(tls) = set(listener, "tls") {
        ingress_tls(listener, tls, walk);
    }
}

fn ingress_tls<'n>(listener: &'n Node, tls: &'n Node, walk: &mut SchemaWalk<'n>) {
    let redirect = tls.get("httpsRedirect");
    let redirect = redirect.filter(|_| is_true(tls, "httpsRedirect"));
    let unsupported = [
        entries(tls, "subjectAltNames"),
        redirect,
        entries(tls, "credentialNames"),
        entries(tls, "tlsCertificates"),
        filled(tls, "credentialName"),
    ];
    for field in unsupported.into_iter().flatten() {
        let what = "is set, and the ingress of a Sidecar does not support it";
        walk.fault(Flaw::Misfit, field, what);
    }
    if let Some(protocol) = listener.at(["port", "protocol"])
        && !matches!(protocol.str(), Some("HTTPS" | "TLS"))
    {
        let what = format!("is set, and the port's protocol is {}", shown(protocol));
        walk.fault(Flaw::Misfit, tls, what);
    }
    if let Some(mode) = tls.get("mode")
        && matches!(mode.str(), Some("ISTIO_MUTUAL" | "AUTO_PASSTHROUGH"))
    {
        walk.value_fault(Flaw::Misfit, mode, "which is for gateways");
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
    let name = text(proxy, "host");
    let is_pattern = name.starts_with('*') && name != "*" && host_problem(name, true).is_none();
    if let Some(host) = proxy.get("host")
        && is_pattern
    {
        walk.value_fault(Flaw::InvalidHost, host, "not the full name of a host");
    }
    if !has(proxy, "port") {
        walk.fault(Flaw::MissingField, proxy, "lacks port");
    }
}
