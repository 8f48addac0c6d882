//! See the page beside this file.

use super::clients::Clients;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::host::{covers, overlaps};
use meshladder_mesh::traffic::binds_mesh;
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0502",
    name: "gateway-takes-no-such-host",
    aka: &["IST0132"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every host of a VirtualService is one that a Gateway it names takes",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: Inputs::of(&[Kind::Pod, Kind::Service, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML06"],
    docs: include_str!("gateway_takes_no_such_host.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        let named = service
            .spec_strings("gateways")
            .filter(|entry| *entry != "mesh");
        let gateways: Vec<Option<&Object>> = named
            .map(|entry| {
                let (namespace, name) = gateway_name(entry, &service.id.namespace);
                facts.mesh.gateway(namespace, name)
            })
            .collect();
        // A Gateway that is missing is another matter.
        let Some(gateways) = gateways
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .filter(|all| !all.is_empty())
        else {
            continue;
        };
        for host in service.spec_list("hosts") {
            let Some(severity) = severity(facts, &clients, service, host, case, &gateways) else {
                continue;
            };
            out.examined();
            let is_taken = gateways
                .iter()
                .copied()
                .flat_map(servers)
                .any(|server| server.takes(service, host, &facts.mesh.domain));
            if !is_taken && !is_for_sidecars(facts, service, host) {
                not_taken(facts, service, host, &gateways, severity, out);
            }
        }
    }
}

/// A host of the mesh may be meant for the sidecars that the VirtualService is for as well; one
/// that is a Service's own name is meant for them, and that `mesh` is missing then has a rule of
/// its own.
fn is_for_sidecars(facts: &Facts<'_>, service: &Object, host: &Node) -> bool {
    let full = facts
        .mesh
        .domain
        .fqdn(host.str().unwrap_or_default(), &service.id.namespace);
    let is_known = || full.starts_with('*') || facts.mesh.registered(&full).next().is_some();
    facts.mesh.service_of_host(&full).is_some() || (binds_mesh(service) && is_known())
}

fn severity(
    facts: &Facts<'_>,
    clients: &Clients<'_>,
    service: &Object,
    host: &Node,
    case: Option<&Case<'_>>,
    gateways: &[&Object],
) -> Option<Severity> {
    let Some(case) = case else {
        let seeing = clients.routers_seeing(service);
        let configured = seeing.iter().any(|router| {
            let of_router = facts.mesh.gateways_of(router);
            of_router
                .iter()
                .any(|one| gateways.iter().any(|gateway| gateway.id == one.id))
        });
        return Some(if configured {
            Severity::Error
        } else {
            Severity::Info
        });
    };
    let wanted = met::authority(case);
    let pattern = facts
        .mesh
        .domain
        .fqdn(host.str().unwrap_or_default(), &service.id.namespace);
    let is_meant =
        covers(&pattern, &wanted) || is_left_alone(facts, gateways, case.call.to.port, &wanted);
    let meets = met::is_through_gateway(case) && met::lacks_route(case) && is_meant;
    meets.then_some(Severity::Error)
}

/// Whether the Gateways take the host that is asked for, and no VirtualService that names them has
/// routes for it: then one of those that name them is likely to have been meant.
fn is_left_alone(facts: &Facts<'_>, gateways: &[&Object], port: u16, wanted: &str) -> bool {
    let mut servers = gateways
        .iter()
        .copied()
        .flat_map(servers)
        .filter(|server| server.port == port);
    let takes = servers.any(|server| {
        server
            .hosts()
            .any(|(_, pattern)| pattern != "*" && covers(pattern, wanted))
    });
    let naming = gateways
        .iter()
        .flat_map(|gateway| facts.mesh.naming(gateway));
    takes
        && !naming
            .into_iter()
            .any(|service| met::is_for_host(facts, service, wanted))
}

fn not_taken(
    facts: &Facts<'_>,
    service: &Object,
    host: &Node,
    gateways: &[&Object],
    severity: Severity,
    out: &mut Sink,
) {
    let written = host.str().unwrap_or_default();
    let full = facts.mesh.domain.fqdn(written, &service.id.namespace);
    let all: Vec<_> = gateways.iter().copied().flat_map(servers).collect();
    let other_namespace = all
        .iter()
        .find(|server| server.hosts().any(|(_, pattern)| overlaps(pattern, &full)));
    let names: Vec<String> = gateways
        .iter()
        .map(|gateway| gateway.id.to_string())
        .collect();
    let mut takes: Vec<&str> = all
        .iter()
        .flat_map(|server| server.hosts().map(|(_, pattern)| pattern))
        .collect();
    takes.sort_unstable();
    takes.dedup();
    let message = match other_namespace {
        Some(server) => {
            format!(
                "{} takes host {written} from other namespaces than that of {}",
                server.gateway.id, service.id
            )
        }
        None => format!(
            "{} is for host {written}, but {} takes {}",
            service.id,
            names.join(", "),
            takes.join(", ")
        ),
    };
    let subject = other_namespace.map_or(&service.id, |server| &server.gateway.id);
    let finding = out.find(
        subject.clone(),
        message,
        Evidence::of(service, host, "the host it is for"),
    );
    finding.severity(severity);
    for server in &all {
        let node = server.node.get("hosts").unwrap_or(server.node);
        finding.see(Evidence::of(
            server.gateway,
            node,
            format!("the hosts taken on port {}", server.port),
        ));
    }
    for gateway in gateways {
        for pod in facts.mesh.gateway_pods(gateway) {
            finding.hits(pod.id.clone());
        }
        if let Some(hosts) = gateway
            .spec_list("servers")
            .iter()
            .find_map(|server| server.get("hosts"))
        {
            let host = format!("{}/{full}", service.id.namespace);
            finding.fix(patch::set(gateway, hosts, "-", host));
        }
    }
    finding.fix(Fix::advice(
        "make the hosts of the VirtualService and those of the Gateway's servers meet",
    ));
}
