//! See the page beside this file.

use crate::doc::json::escape;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::services::{Protocol, ServicePort, ports};
use crate::rules::witness::{self, Told};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML1012",
    name: "port-speaks-http-1",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "where a port is declared HTTP/2 or gRPC, the application speaks it",
    needs: &["k8s/services.json", "k8s/pods.json"],
    uses: &["proxies/", "logs/"],
    explains: &[],
    docs: include_str!("port_speaks_http_1.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, asked: &Asked<'_>, out: &mut Sink) {
    out.examined();
    let broken = |told: &Told<'_>| told.has("UPE") || told.details.contains("protocol_error");
    let Some(told) = witness::told(facts, asked).into_iter().find(broken) else { return };
    let Some((service, port)) = witness::called_port(facts, asked) else { return };
    if !matches!(port.protocol, Protocol::Http2 | Protocol::Grpc) {
        return;
    }
    let how = port.app_protocol.unwrap_or(port.name);
    let message = format!(
        "port {} of {} is declared {how}, so proxies speak HTTP/2 to the application, which does not answer in HTTP/2",
        port.number, service.id
    );
    let finding = out.find(service.id.clone(), message, Evidence::of(service, port.node, "the declaration"));
    finding.see(told.proof);
    for pod in &asked.servers {
        finding.hits(pod.reference());
    }
    finding.fix(Fix::json_patch(&service.id, patch(service, &port)));
}

/// Declares the port as HTTP/1.1.
fn patch(service: &Stored, port: &ServicePort<'_>) -> String {
    let at = service.path_of(port.node);
    if port.app_protocol.is_some() {
        return format!(r#"[{{"op":"replace","path":"{at}/appProtocol","value":"http"}}]"#);
    }
    let rest = port.name.split_once('-').map(|(_, rest)| format!("-{rest}")).unwrap_or_default();
    let mut name = format!("http{rest}");
    if ports(service).any(|other| other.name == name) {
        name = format!("http-{}", port.number);
    }
    let op = if port.name.is_empty() { "add" } else { "replace" };
    format!(r#"[{{"op":"{op}","path":"{at}/name","value":{}}}]"#, escape(&name))
}
