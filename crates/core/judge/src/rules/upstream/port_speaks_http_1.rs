//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts::{self, Account};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::services::{Protocol, ServicePort, number, ports};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1012",
    name: "port-speaks-http-1",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application speaks the HTTP that its port is declared to have",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("port_speaks_http_1.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let broken = |told: &Account<'_>| told.has("UPE") || told.details.contains("protocol_error");
    let Some(told) = accounts::of(facts, case).into_iter().find(broken) else {
        return;
    };
    if let Some((object, node)) = upgrade(facts, case) {
        return upgraded(case, object, node, told, out);
    }
    if let Some((entry, node)) = entry_port(facts, case) {
        return tell_entry(case, entry, node, told, out);
    }
    let Some((service, port)) = accounts::called_port(facts, case) else {
        return;
    };
    let how = port.app_protocol.unwrap_or(port.name);
    let (message, op) = match port.protocol {
        Protocol::Http2 | Protocol::Grpc => (
            format!(
                "port {} of {} is declared {how}, so proxies speak HTTP/2 to the application, which does not answer in HTTP/2",
                port.number, service.id
            ),
            patch(service, &port, "http"),
        ),
        Protocol::Http if is_grpc(case) => (
            format!(
                "port {} of {} is declared {how}, so proxies speak HTTP/1.1 to the application, and the call is gRPC, which is HTTP/2",
                port.number, service.id
            ),
            patch(service, &port, "grpc"),
        ),
        _ => return,
    };
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the declaration"),
    );
    finding.see(told.proof);
    for pod in &case.servers {
        finding.hits(pod.reference());
    }
    let fix = Fix::patch(&service.id, [op]);
    finding.fix(if is_grpc(case) {
        fix.unchecked("the logs are of before the change")
    } else {
        fix
    });
}

/// The port of a ServiceEntry that is declared to speak HTTP/2.
fn entry_port<'r>(facts: &Facts<'r>, case: &Case<'_>) -> Option<(&'r Object, &'r Node)> {
    let entry = accounts::outside(facts, case)?;
    let is_it = |port: &&Node| {
        let protocol = Protocol::of_name(port.str_at("protocol").unwrap_or_default());
        port.get("number").and_then(number) == Some(case.call.to.port)
            && matches!(protocol, Protocol::Http2 | Protocol::Grpc)
    };
    Some((entry, entry.spec_list("ports").iter().find(is_it)?))
}

fn tell_entry(case: &Case<'_>, entry: &Object, port: &Node, told: Account<'_>, out: &mut Sink) {
    let protocol = port.get("protocol").unwrap_or(port);
    let message = format!(
        "{} declares port {} of {} as {}, so proxies speak HTTP/2 to it, which does not answer in HTTP/2",
        entry.id,
        case.call.to.port,
        case.host,
        protocol.str().unwrap_or_default()
    );
    let proof = Evidence::of(entry, protocol, "the declaration");
    let finding = out.find(entry.id.clone(), message, proof);
    finding.see(told.proof);
    let path = entry.path_of(protocol);
    finding.fix(Fix::patch(&entry.id, [Op::replace(path, "HTTP")]));
}

fn is_grpc(case: &Case<'_>) -> bool {
    let headers = case.call.headers.iter();
    headers
        .into_iter()
        .any(|(name, value)| name == "content-type" && value.starts_with("application/grpc"))
}

/// Who has callers' proxies speak HTTP/2 to a port that is declared HTTP/1.1.
fn upgrade<'r>(facts: &Facts<'r>, case: &Case<'r>) -> Option<(&'r Object, &'r Node)> {
    let pool = accounts::client_setting(facts, case, "connectionPool");
    let of_rule = pool.and_then(|(rule, pool)| Some((rule, pool.at(["http", "h2UpgradePolicy"])?)));
    if let Some((rule, policy)) = of_rule.filter(|(_, policy)| policy.str() != Some("DEFAULT")) {
        return (policy.str() == Some("UPGRADE")).then_some((rule, policy));
    }
    let config = &facts.mesh.config;
    let is_on = config.tree.as_ref()?.str_at("h2UpgradePolicy") == Some("UPGRADE");
    let map = facts
        .mesh
        .objects
        .find(config.object.as_ref()?)
        .filter(|_| is_on)?;
    Some((map, map.node.at(["data", "mesh"])?))
}

fn upgraded(case: &Case<'_>, object: &Object, node: &Node, told: Account<'_>, out: &mut Sink) {
    let message = format!(
        "{} has proxies speak HTTP/2 to {} (h2UpgradePolicy), whose application does not answer in HTTP/2",
        object.id, case.host
    );
    let finding = out.find(
        object.id.clone(),
        message,
        Evidence::of(object, node, "the upgrade"),
    );
    finding.see(told.proof);
    for pod in &case.servers {
        finding.hits(pod.reference());
    }
    if object.id.is(Kind::DestinationRule) {
        let path = object.path_of(node);
        finding.fix(Fix::patch(&object.id, [Op::remove(path)]));
    }
    finding.fix(Fix::advice(
        "keep the upgrade for Services whose applications speak HTTP/2",
    ));
}

/// Declares the port otherwise.
fn patch(service: &Object, port: &ServicePort<'_>, protocol: &str) -> Op {
    let at = service.path_of(port.node);
    if port.app_protocol.is_some() {
        return Op::replace(format!("{at}/appProtocol"), protocol);
    }
    let rest = port
        .name
        .split_once('-')
        .map(|(_, rest)| format!("-{rest}"))
        .unwrap_or_default();
    let mut name = format!("{protocol}{rest}");
    if ports(service).any(|other| other.name == name) {
        name = format!("{protocol}-{}", port.number);
    }
    let at = format!("{at}/name");
    if port.name.is_empty() {
        Op::add(at, name)
    } else {
        Op::replace(at, name)
    }
}
