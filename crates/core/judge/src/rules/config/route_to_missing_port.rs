//! See the page beside this file.

use super::clients::Clients;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::services::number;
use meshladder_mesh::traffic::{Destination, binds_mesh, destinations};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Value;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0506",
    name: "route-to-missing-port",
    aka: &["IST0101", "KIA1101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every port that a VirtualService routes to is one that the Service has",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Sidecar]),
    explains: &["ML06", "ML07"],
    docs: include_str!("route_to_missing_port.md"),
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
        for to in destinations(service, &facts.mesh.domain) {
            let owners: Vec<&Object> = facts.mesh.registered(&to.host).collect();
            if owners.is_empty() || case.is_some_and(|case| !meets(facts, case, service, &to)) {
                continue;
            }
            out.examined();
            let Some(wanted) = missing(facts.mesh, service, &to, &owners) else {
                continue;
            };
            let is_used = case.is_some() || !clients.of_virtual_service(service).is_empty();
            let is_odd = is_service_odd(facts.mesh, case, owners[0], wanted);
            tell(service, &to, &owners, (wanted, is_odd), is_used, out);
        }
    }
}

fn meets(facts: &Facts<'_>, case: &Case<'_>, service: &Object, to: &Destination<'_>) -> bool {
    let is_seen = met::scope(facts, case)
        .is_none_or(|scope| facts.mesh.is_exported_to(service, scope.namespace));
    let is_delegate = service.spec_list("hosts").is_empty();
    let port = to.port.map(|port| port.to_string());
    is_seen
        && (is_delegate || met::is_for_host(facts, service, &met::authority(case)))
        && met::clusters(case).any(|cluster| {
            cluster.host == to.host && port.as_deref().is_none_or(|port| port == cluster.port)
        })
}

/// The port that istiod asks the Service for and that it does not have. Without one in the route it
/// is the Service's only port, else the listener's: for a gateway the port of its server.
fn missing(mesh: &Mesh, service: &Object, to: &Destination<'_>, owners: &[&Object]) -> Option<u16> {
    let ports: Vec<u16> = owners.iter().flat_map(|owner| ports_of(owner)).collect();
    if let Some(port) = to.port {
        return (!ports.contains(&port)).then_some(port);
    }
    if ports.len() < 2 || binds_mesh(service) {
        return None;
    }
    let named = service.spec_strings("gateways").filter_map(|entry| {
        let (namespace, name) = gateway_name(entry, &service.id.namespace);
        mesh.gateway(namespace, name)
    });
    let hosts = service.spec_list("hosts");
    let takes = named.flat_map(servers).filter(|server| {
        hosts
            .iter()
            .any(|host| server.takes(service, host, &mesh.domain))
    });
    takes
        .map(|server| server.port)
        .find(|port| !ports.contains(port))
}

/// Whether it is the Service that differs from the others: callers name the same port as the route,
/// or its pods listen on it and on none that the Service has.
fn is_service_odd(mesh: &Mesh, case: Option<&Case<'_>>, owner: &Object, wanted: u16) -> bool {
    let is_called = case.is_some_and(|case| case.client.is_some() && case.call.to.port == wanted);
    let pods = mesh.selected_pods(owner);
    let containers = pods.iter().flat_map(|pod| pod.spec_list("containers"));
    let listed = containers.flat_map(|container| list(container, "ports"));
    let open: Vec<u16> = listed
        .filter_map(|port| number(port.get("containerPort")?))
        .collect();
    let listens = open.contains(&wanted) && !ports_of(owner).any(|port| open.contains(&port));
    owner.id.is(Kind::Service) && (is_called || listens)
}

/// A Service writes `port`, a ServiceEntry `number`.
fn ports_of(owner: &Object) -> impl Iterator<Item = u16> + '_ {
    owner
        .spec_list("ports")
        .iter()
        .filter_map(|port| number(port.get("port").or_else(|| port.get("number"))?))
}

fn tell(
    service: &Object,
    to: &Destination<'_>,
    owners: &[&Object],
    (wanted, is_service_odd): (u16, bool),
    is_used: bool,
    out: &mut Sink,
) {
    let owner = owners[0];
    let ports: Vec<u16> = owners.iter().flat_map(|owner| ports_of(owner)).collect();
    let has: Vec<String> = ports.iter().map(u16::to_string).collect();
    let message = match to.port {
        Some(_) => format!(
            "{} routes to port {wanted} of {}, which has {}",
            service.id,
            owner.id,
            has.join(", ")
        ),
        None => format!(
            "{} names no port of {}, which has {}, so the gateway's own port {wanted} is taken",
            service.id,
            owner.id,
            has.join(", ")
        ),
    };
    let at = to.node.get("port").unwrap_or(to.node);
    let subject = if is_service_odd { owner } else { service };
    let finding = out.find(
        subject.id.clone(),
        message,
        Evidence::of(service, at, "where it routes to"),
    );
    finding.see(Evidence::of(
        owner,
        owner.spec_at(["ports"]).unwrap_or(&owner.node),
        "the ports there are",
    ));
    finding.hits(owner.id.clone());
    if !is_used {
        finding.severity(Severity::Info);
    }
    if is_service_odd {
        finding.fix(Fix::advice(format!(
            "give {} its port {wanted} again, which its callers use",
            owner.id
        )));
    }
    for port in ports.iter().take(2) {
        finding.fix(patch::set(
            service,
            to.node,
            "port",
            Value::object([("number", *port)]),
        ));
    }
}
