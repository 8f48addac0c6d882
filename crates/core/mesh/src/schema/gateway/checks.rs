//! What the fields of a Gateway must be to each other.

use std::net::IpAddr;

use crate::schema::fault::Flaw;
use crate::schema::fields::{all_different, filled, is_true, items, number, set, text};
use crate::schema::names::{host_problem, is_label, is_tls, protocol};
use crate::schema::walk::SchemaWalk;
use crate::services::Protocol;
use meshladder_text::tree::Node;

/// "Gateway name must conform to the DNS label format (no dots)", "port names in servers must be
/// unique"
pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let object = walk.object;
    if let Some(name) = object.node.at(["metadata", "name"])
        && name.str().is_some_and(|name| !is_label(name))
    {
        walk.value_fault(Flaw::InvalidValue, name, "and a Gateway's name has no dots");
    }
    all_different(
        items(spec, "servers"),
        |server| server.at(["port", "name"]),
        walk,
    );
}

pub(super) fn server<'n>(server: &'n Node, walk: &mut SchemaWalk<'n>) {
    for host in items(server, "hosts") {
        if let Some(what) = host.str().and_then(|name| hostname(name, true)) {
            walk.value_fault(Flaw::InvalidHost, host, what.clone());
        }
    }
    bind(server, walk);
    let Some(port) = server.get("port") else {
        return;
    };
    if let Some(target) = port.get("targetPort")
        && number(port, "targetPort").is_some_and(|n| n > 0.0)
    {
        walk.fault(
            Flaw::Misfit,
            target,
            "is set, and a Gateway has no use for it",
        );
    }
    if let Some(protocol) = protocol(text(port, "protocol")) {
        protocol_and_tls(server, protocol, walk);
    }
}

/// "port number must be 0 for unix domain socket"
fn bind<'n>(server: &'n Node, walk: &mut SchemaWalk<'n>) {
    let bind = text(server, "bind");
    let number = server
        .get("port")
        .and_then(|port| Some((port.get("number")?, number(port, "number")?)));
    let Some(socket) = bind.strip_prefix("unix://") else {
        if let Some(bind) = filled(server, "bind").filter(|_| bind.parse::<IpAddr>().is_err()) {
            walk.value_fault(
                Flaw::InvalidValue,
                bind,
                "not an IP address or a unix:// path",
            );
        }
        if let Some((node, _)) = number.filter(|(_, number)| !(1.0..=65535.0).contains(number)) {
            walk.value_fault(Flaw::InvalidValue, node, "out of range: 1 to 65535");
        }
        return;
    };
    if let Some(bind) = server.get("bind").filter(|_| !is_socket(socket)) {
        walk.value_fault(Flaw::InvalidValue, bind, "not an absolute path of a file");
    }
    if let Some((node, _)) = number.filter(|(_, number)| *number > 0.0) {
        walk.value_fault(Flaw::Misfit, node, "and a unix socket has no port");
    }
}

/// Whether this can be a unix socket: "Allow unix abstract domain sockets whose names start with @"
pub(in crate::schema) fn is_socket(path: &str) -> bool {
    path.starts_with('@') || path.starts_with('/') && !path.ends_with('/')
}

/// "server must have TLS settings for HTTPS/TLS protocols", "server cannot have TLS settings for
/// plain text HTTP ports"
fn protocol_and_tls<'n>(server: &'n Node, protocol: Protocol, walk: &mut SchemaWalk<'n>) {
    let shown = text(server.get("port").unwrap_or(server), "protocol");
    let Some(tls) = set(server, "tls") else {
        if is_tls(protocol) {
            walk.fault(
                Flaw::MissingField,
                server,
                format!("speaks {shown} and lacks tls"),
            );
        }
        return;
    };
    let is_redirect = is_true(tls, "httpsRedirect");
    if protocol.is_http() {
        let passes = matches!(text(tls, "mode"), "" | "PASSTHROUGH" | "AUTO_PASSTHROUGH");
        let files = ["caCertificates", "privateKey", "serverCertificate"];
        if !passes || files.iter().any(|field| filled(tls, field).is_some()) {
            let what =
                format!("is set, and {shown} is plain text; only httpsRedirect goes with it");
            walk.fault(Flaw::Misfit, tls, what);
        }
    } else if !is_tls(protocol) {
        walk.fault(
            Flaw::Misfit,
            tls,
            format!("is set, and {shown} is not HTTPS or TLS"),
        );
    }
    if is_redirect && !protocol.is_http() {
        let redirect = tls.get("httpsRedirect").unwrap_or(tls);
        walk.fault(
            Flaw::NoEffect,
            redirect,
            format!("has no effect with {shown}: only HTTP is redirected"),
        );
    }
}

/// What is wrong with `host` or `namespace/host` of a Gateway or a Sidecar.
pub(in crate::schema) fn hostname(entry: &str, is_gateway: bool) -> Option<String> {
    let Some((namespace, host)) = entry.split_once('/') else {
        return if is_gateway {
            host_part(entry, true)
        } else {
            Some("not of the form NAMESPACE/HOST".to_owned())
        };
    };
    let is_special = matches!(namespace, "*" | ".") || namespace == "~" && !is_gateway;
    if !is_special && !is_label(namespace) {
        return Some(format!("and `{namespace}` is no namespace"));
    }
    host_part(host, is_gateway)
}

/// "short names (non FQDN) are not allowed", "partial wildcard not allowed"
fn host_part(host: &str, is_gateway: bool) -> Option<String> {
    if is_gateway && host.parse::<IpAddr>().is_ok() {
        return None;
    }
    if host != "*" && !host.contains('.') {
        return Some("a short name where a full one is needed".to_owned());
    }
    if host.contains('*') && host != "*" && !host.starts_with("*.") {
        return Some("and `*` stands for whole labels only".to_owned());
    }
    host_problem(host, true)
}
