//! See the page beside this file.

use super::action::Action;
use super::effect::{self, may_explain, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::{Protocol, ServicePort, ports};
use meshladder_mesh::traffic::{binds_mesh, hosts};
use meshladder_mesh::{Mesh, Object};
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0606",
    name: "http-rules-on-tcp-port",
    aka: &["IST0118", "KIA0601"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every port that HTTP routes are written for is declared as HTTP",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("http_rules_on_tcp_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    match case {
        Some(case) => request(facts.mesh, case, out),
        None => {
            for rules in facts
                .mesh
                .objects
                .of_kind(Kind::VirtualService)
                .iter()
                .filter(|rules| binds_mesh(rules))
            {
                for (_, host) in hosts(rules, &facts.mesh.domain) {
                    all_ports(facts.mesh, rules, &host, out);
                }
            }
        }
    }
}

fn request(mesh: &Mesh, case: &Case<'_>, out: &mut Sink) {
    let (Some(client), Scheme::Http) = (sidecar(mesh, case), case.call.to.scheme) else {
        return;
    };
    let Some(service) = mesh.service_of_host(&case.host) else {
        return;
    };
    let Some((place, port)) = ports(service)
        .enumerate()
        .find(|(_, port)| port.number == case.call.to.port)
    else {
        return;
    };
    out.examined();
    let is_tcp = case
        .trace
        .hops
        .first()
        .is_some_and(|hop| hop.route_config.is_none());
    if is_http(port.protocol) || !is_tcp {
        return;
    }
    let Some(rules) = mesh
        .virtual_services(mesh.scope(client), &case.host)
        .into_iter()
        .next()
    else {
        return;
    };
    let Taken::Route(_, route) = RouteCall::of(case, Some(client)).takes(rules) else {
        return;
    };
    let wanted = Action::of(mesh, rules, route, port.number);
    let nothing = Action::of_nothing(&case.host, port.number);
    let Some(without) = wanted.beyond(&nothing) else {
        return;
    };
    let message = format!(
        "port {} of {} is {}, so the HTTP routes of {} do nothing there: {without} is not applied",
        port.number,
        service.id,
        declared(&port),
        rules.id
    );
    let severity = if may_explain(case, &wanted, &nothing) {
        Severity::Warning
    } else {
        Severity::Info
    };
    let finding = find(out, message, service, place, &port);
    finding
        .see(Evidence::of(rules, route, "the route that is not applied"))
        .hits(client.id.clone());
    finding.hits(rules.id.clone()).severity(severity);
    for line in case.client_log.iter().take(1) {
        finding.see(Evidence::line(
            &meshladder_capture::snapshot::DocId::new(&line.doc),
            line.number,
            "what the client's proxy logged",
        ));
    }
}

fn all_ports(mesh: &Mesh, rules: &Object, host: &str, out: &mut Sink) {
    let Some(service) = mesh.service_of_host(host) else {
        return;
    };
    out.examined();
    let ports: Vec<_> = ports(service).enumerate().collect();
    let Some((place, port)) = ports.first() else {
        return;
    };
    let nothing = Action::of_nothing(host, port.number);
    let differs = |route: &&Node| {
        Action::of(mesh, rules, route, port.number)
            .beyond(&nothing)
            .is_some()
    };
    let Some(route) = rules.spec_list("http").iter().find(differs) else {
        return;
    };
    // With several ports it may be meant for those that are HTTP.
    if ports.iter().any(|(_, port)| is_http(port.protocol)) {
        return;
    }
    let message = format!(
        "port {} of {} is {}, so the HTTP routes of {} do nothing there",
        port.number,
        service.id,
        declared(port),
        rules.id
    );
    let finding = find(out, message, service, *place, port);
    finding
        .see(Evidence::of(rules, route, "a route that is not applied"))
        .hits(rules.id.clone());
}

fn find<'o>(
    out: &'o mut Sink,
    message: String,
    service: &Object,
    place: usize,
    port: &ServicePort<'_>,
) -> &'o mut crate::finding::Finding {
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, declared(port)),
    );
    finding.fix(Fix::patch(
        &service.id,
        [Op::add(format!("/spec/ports/{place}/appProtocol"), "http")],
    ));
    finding.fix(Fix::advice(
        "or name the port http, or http-… (grpc, http2): the part before the first dash counts",
    ));
    finding
}

/// Where nothing is declared, proxies look at the first bytes and find HTTP by themselves.
fn is_http(protocol: Protocol) -> bool {
    protocol.is_http() || protocol == Protocol::Sniffed
}

/// `declared TCP by its name tcp-cart`
fn declared(port: &ServicePort<'_>) -> String {
    let kind = match port.protocol {
        Protocol::Https | Protocol::Tls => "TLS",
        Protocol::Udp => "UDP",
        _ => "TCP",
    };
    match port.app_protocol {
        Some(app_protocol) => format!("declared {kind} by appProtocol {app_protocol}"),
        None if port.name.is_empty() => format!("taken for {kind} by its number"),
        None => format!("declared {kind} by its name {}", port.name),
    }
}
