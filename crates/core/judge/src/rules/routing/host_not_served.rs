//! See the page beside this file.

use super::effect::{self, authority, gateway, sidecar};
use crate::finding::{Confidence, Evidence, Finding, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::gateways::servers;
use meshladder_mesh::host::covers;
use meshladder_mesh::traffic::{StepKind, hosts};
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_sim::trace::{EndKind, HopDirection, TraceStage};
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0612",
    name: "host-not-served",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the proxy has a virtual host for the host that the request asks for",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: effect::USES,
    explains: &["ML08", "ML10"],
    docs: include_str!("host_not_served.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let outcome = &case.trace.outcome;
    out.examined();
    foreign_host(facts.mesh, case, out);
    let no_chain = outcome.kind == EndKind::Reset && outcome.details == "filter_chain_not_found";
    let ends = matches!(outcome.kind, EndKind::NoRoute | EndKind::NoListener) || no_chain;
    if !ends || case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let host = authority(case);
    match gateway(facts.mesh, case) {
        Some(pod) if no_chain && case.call.to.scheme == Scheme::Http => {
            plain(facts.mesh, case, pod, out);
        }
        Some(pod) if no_chain && is_served(facts.mesh, pod, case.call.to.port, &host) => {
            other_name(facts.mesh, case, pod, &host, out);
        }
        Some(pod) => at_gateway(facts.mesh, case, pod, &host, out),
        None if outcome.kind == EndKind::NoListener && case.client.is_none() => {
            no_port(facts.mesh, case, out);
        }
        None if case.trace.hops.first().is_some_and(|hop| {
            hop.direction == HopDirection::Outbound && hop.virtual_host.is_none()
        }) =>
        {
            let message = format!(
                "the client's proxy has no virtual host for {host} on port {}",
                case.call.to.port
            );
            if outcome.kind == EndKind::NoRoute
                && facts.mesh.registered(&case.host).next().is_none()
            {
                let finding = out.find(Subject::Request, message, proof(case));
                finding
                    .hits
                    .extend(case.client.map(meshladder_mesh::PodFacts::reference));
                finding.fix(Fix::advice(
                    "call the Service by its name, or send the Host header that it is known by",
                ));
            }
        }
        None => {}
    }
}

/// A call to a Service by a Host that is not the Service's: proxies route by the Host, not by the
/// address.
fn foreign_host(mesh: &Mesh, case: &Case<'_>, out: &mut Sink) {
    let (Some(client), Some(service)) = (sidecar(mesh, case), case.service) else {
        return;
    };
    let given = case.call.headers.iter().any(|(name, _)| name == "host");
    let host = authority(case);
    let unrouted = case
        .clusters()
        .any(|cluster| matches!(cluster, "PassthroughCluster" | "BlackHoleCluster"))
        || case
            .trace
            .hops
            .first()
            .is_some_and(|hop| hop.virtual_host.as_deref() == Some("block_all"));
    let is_named = mesh
        .service_named(&host, &client.id.namespace)
        .is_some_and(|named| named.name == service.name && named.namespace == service.namespace);
    if !given || !unrouted || is_named || case.call.to.scheme != Scheme::Http {
        return;
    }
    let called = ObjectRef::of(Kind::Service, &service.namespace, &service.name);
    let message = format!(
        "the request to {called} asks for host {host}, which is not its name, so the client's proxy treats it as a call \
         to somewhere outside the mesh"
    );
    let finding = out.find(Subject::Request, message, proof(case));
    finding.hits(client.id.clone()).hits(called);
    for server in &case.servers {
        finding.hits(server.reference());
    }
    if case.trace.outcome.kind == EndKind::Forwarded && case.seen.is_none_or(Symptom::is_success) {
        finding.severity(Severity::Warning);
    }
    finding.fix(Fix::advice(format!(
        "send the Service's own name as Host: {}",
        case.host
    )));
    finding.fix(Fix::advice(format!(
        "or add {host} to the hosts of a VirtualService and a ServiceEntry"
    )));
}

fn at_gateway(mesh: &Mesh, case: &Case<'_>, pod: &Object, host: &str, out: &mut Sink) {
    let port = case.call.to.port;
    // Who names no gateway means the mesh, unless the mesh knows no such host.
    let is_of_mesh = mesh.registered(host).next().is_some();
    let named = |service: &&Object| {
        let names_gateway = service
            .spec_list("gateways")
            .iter()
            .any(|gateway| gateway.str() != Some("mesh"));
        (names_gateway || !is_of_mesh)
            && hosts(service, &mesh.domain).any(|(_, full)| full != "*" && covers(&full, host))
    };
    let bound = effect::serving(mesh, case, None);
    // A server without any routes gets a virtual host of that name, for all hosts and empty.
    let is_filled = |name: &str| !name.starts_with("blackhole:");
    let hop = case.trace.hops.first();
    // With routes for the host it is the path that none is for.
    if !bound.is_empty()
        || hop.is_some_and(|hop| hop.virtual_host.as_deref().is_some_and(is_filled))
    {
        return;
    }
    let claims: Vec<_> = mesh
        .objects
        .of_kind(Kind::VirtualService)
        .iter()
        .filter(named)
        .collect();
    let server = mesh.server_for(pod, port, host);
    let exact = server.filter(|server| server.hosts().any(|(_, pattern)| pattern == host));
    let finding = if let Some(service) = claims.first() {
        let node = hosts(service, &mesh.domain)
            .find(|(_, full)| covers(full, host))
            .map_or(&service.node, |(node, _)| node);
        let steps = mesh.gateway_steps(service, node, pod);
        let failed = steps.iter().find(|step| !step.holds);
        let why = failed.map_or("it is not bound to it", |step| &step.why);
        let message = format!(
            "{} has routes for {host}, but {} does not get them: {why}",
            service.id, pod.id
        );
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, node, "the host"),
        );
        finding.see(proof(case));
        if let Some(step) = failed.filter(|step| step.kind == StepKind::Exported) {
            finding.evidence.extend(
                step.by
                    .map(|(by, node)| Evidence::of(by, node, "who gets it")),
            );
            finding.fix(Fix::merge(
                &service.id,
                Value::nested(["spec", "exportTo"], ["*"]),
            ));
        }
        finding
    } else if let Some(server) = exact {
        let gateway = server.gateway;
        let message = format!(
            "{} takes {host} on port {port}, and no VirtualService has routes for it",
            gateway.id
        );
        let finding = out.find(
            gateway.id.clone(),
            message,
            Evidence::of(gateway, server.node, "it takes the host"),
        );
        finding.see(proof(case));
        finding
    } else {
        let message = match &*served(mesh, pod, port).join(", ") {
            "" => format!("no Gateway serves {host} on port {port}"),
            known => {
                format!(
                    "no Gateway serves {host} on port {port}; the gateway in {} serves {known}",
                    pod.id.namespace
                )
            }
        };
        out.find(Subject::Request, message, proof(case))
    };
    finding.hits(pod.id.clone());
    for gateway in mesh.gateways_of(pod) {
        for server in servers(gateway).filter(|server| server.port == port) {
            if let Some(hosts) = server.node.get("hosts") {
                finding.see(Evidence::of(
                    gateway,
                    hosts,
                    format!("the hosts of {} on port {port}", gateway.id),
                ));
            }
        }
    }
    advise(finding, &served(mesh, pod, port), host);
}

/// HTTP in plain text to a port where every server of the gateway speaks TLS.
fn plain(mesh: &Mesh, case: &Case<'_>, pod: &Object, out: &mut Sink) {
    let port = case.call.to.port;
    let mut all = mesh
        .gateways_of(pod)
        .into_iter()
        .flat_map(servers)
        .filter(|server| server.port == port);
    let Some(server) = all.next().filter(|server| server.node.get("tls").is_some()) else {
        return;
    };
    let message = format!(
        "port {port} of {} speaks TLS, and the request is plain HTTP",
        server.gateway.id
    );
    let at = server.node.get("tls").unwrap_or(server.node);
    let proof = Evidence::of(server.gateway, at, "the server speaks TLS");
    let finding = out.find(Subject::Request, message, proof);
    finding.hits(pod.id.clone());
    finding.fix(Fix::advice(format!(
        "call https://{}:{port}, or a port whose server speaks HTTP",
        authority(case)
    )));
}

fn is_served(mesh: &Mesh, pod: &Object, port: u16, host: &str) -> bool {
    mesh.server_for(pod, port, host)
        .is_some_and(|server| server.node.get("tls").is_some())
}

/// A host that is served, asked for on a connection that was opened for another, or for none: TLS
/// servers are told apart by the name that the client says first.
fn other_name(mesh: &Mesh, case: &Case<'_>, pod: &Object, host: &str, out: &mut Sink) {
    let port = case.call.to.port;
    let said = match &case.call.sni {
        Some(Some(name)) if name != host => format!("the name {name}"),
        Some(None) => "no name".to_owned(),
        None if case.call.to.host.parse::<std::net::IpAddr>().is_ok() => "no name".to_owned(),
        _ => return,
    };
    let Some(server) = mesh.server_for(pod, port, host) else {
        return;
    };
    let message = format!(
        "the client says {said} in its TLS handshake, and port {port} of {} is for {} only",
        server.gateway.id,
        served(mesh, pod, port).join(", ")
    );
    let at = server.node.get("hosts").unwrap_or(server.node);
    let proof = Evidence::of(server.gateway, at, "the names it tells apart");
    let finding = out.find(Subject::Request, message, proof);
    finding.hits(pod.id.clone());
    finding.fix(Fix::advice(format!(
        "let the client say {host}: call it by that name, or set SNI to it"
    )));
}

fn no_port(mesh: &Mesh, case: &Case<'_>, out: &mut Sink) {
    let port = case.call.to.port;
    let gateways = || mesh.objects.of_kind(Kind::Gateway).iter();
    if gateways()
        .flat_map(servers)
        .any(|server| server.port == port)
    {
        return;
    }
    let message = format!("no Gateway has a server on port {port}");
    let proof = gateways().next().map_or_else(
        || proof(case),
        |gateway| {
            Evidence::of(
                gateway,
                gateway.spec_at(["servers"]).unwrap_or(&gateway.node),
                "the ports there are",
            )
        },
    );
    let finding = out.find(Subject::Request, message, proof);
    finding.confidence(Confidence::Likely);
    finding.fix(Fix::advice(
        "call a port that a Gateway has a server for, or add a server to a Gateway",
    ));
}

/// The hosts that a gateway has on a port.
fn served(mesh: &Mesh, pod: &Object, port: u16) -> Vec<String> {
    let servers = mesh
        .gateways_of(pod)
        .into_iter()
        .flat_map(servers)
        .filter(|server| server.port == port);
    let mut hosts: Vec<_> = servers
        .flat_map(|server| server.hosts())
        .map(|(_, host)| host.to_owned())
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn advise(finding: &mut Finding, served: &[String], host: &str) {
    if served.iter().any(|known| known == host) {
        return;
    }
    if let Some(known) = served.iter().find(|known| !known.starts_with('*')) {
        finding.fix(Fix::advice(format!(
            "send the Host that is served, such as {known}"
        )));
    }
    finding.fix(Fix::advice(format!(
        "or add {host} to the hosts of a server of the Gateway and of a VirtualService bound to it"
    )));
}

/// The bytes that decided, else the proxy's dump.
fn proof(case: &Case<'_>) -> Evidence {
    let hop = case.trace.hops.first();
    let steps = hop.into_iter().flat_map(|hop| hop.steps.iter().rev());
    let mut places = steps
        .filter(|step| step.stage == TraceStage::Route)
        .flat_map(|step| &step.evidence);
    if let Some(at) = places.next().or(case.trace.outcome.evidence.first()) {
        return Evidence::offset(
            &at.doc,
            at.offset,
            "the route configuration: no virtual host fits",
        );
    }
    let proxy = hop.map_or_else(String::new, |hop| hop.proxy.namespaced_name());
    Evidence::document(
        &DocId::new(format!("proxies/{proxy}/config_dump.json")),
        "no virtual host fits",
    )
}
