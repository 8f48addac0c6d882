//! See the page beside this file.

use super::{met, patch};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::services::{ports, target_port};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0509",
    name: "gateway-port-not-on-service",
    // istioctl has given up the second for the first.
    aka: &["IST0162", "IST0104"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every port of a Gateway is one that a Service of its pods leads to",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Service]),
    uses: Inputs::NONE,
    explains: &["ML06"],
    docs: include_str!("gateway_port_not_on_service.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        // Without pods it is another matter.
        let pods = facts.mesh.gateway_pods(gateway);
        let Some(pod) = pods.first() else { continue };
        let services = facts.mesh.services_of(pod);
        if services.is_empty() || has_host_ports(pod) {
            continue;
        }
        for server in servers(gateway) {
            if case.is_some_and(|case| !meets(facts.mesh, case, &server, pod)) {
                continue;
            }
            out.examined();
            if !services
                .iter()
                .any(|service| leads_to(service, pod, server.port))
            {
                let free = free_port(facts.mesh, pod, &services);
                tell(&server, pod, &services, free, out);
            }
        }
    }
}

/// A request to the port, or to one that no server is on, for a host that this server takes.
fn meets(mesh: &Mesh, case: &Case<'_>, server: &Server<'_>, pod: &Object) -> bool {
    let (port, host) = (case.call.to.port, met::authority(case));
    let is_missed = || {
        server.hosts().any(|(_, pattern)| covers(pattern, &host))
            && !mesh
                .gateways_of(pod)
                .into_iter()
                .flat_map(servers)
                .any(|other| other.port == port)
    };
    met::is_through_gateway(case) && met::fails(case) && (port == server.port || is_missed())
}

/// The one port of the Services that leads to the pod, and that no server is on.
fn free_port(mesh: &Mesh, pod: &Object, services: &[&Object]) -> Option<u16> {
    const STATUS: u16 = 15021;
    let served: Vec<u16> = mesh
        .gateways_of(pod)
        .into_iter()
        .flat_map(servers)
        .map(|server| server.port)
        .collect();
    let all = services
        .iter()
        .flat_map(|service| ports(service))
        .map(|port| port.number);
    let mut free = all.filter(|port| *port != STATUS && !served.contains(port));
    free.next().filter(|_| free.next().is_none())
}

/// A server's port is the Service's, or the pod's own.
fn leads_to(service: &Object, pod: &Object, wanted: u16) -> bool {
    ports(service).any(|port| port.number == wanted || target_port(&port, pod) == Some(wanted))
}

/// A port of the node leads to the pod without any Service.
fn has_host_ports(pod: &Object) -> bool {
    let on_host = pod
        .spec_at(["hostNetwork"])
        .is_some_and(|on| on.value == Value::Bool(true));
    let containers = pod.spec_list("containers").iter();
    let mut ports =
        containers.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    on_host || ports.any(|port| port.get("hostPort").is_some())
}

fn tell(
    server: &Server<'_>,
    pod: &Object,
    services: &[&Object],
    free: Option<u16>,
    out: &mut Sink,
) {
    let service = services[0];
    let has: Vec<String> = services
        .iter()
        .flat_map(|s| ports(s))
        .map(|port| port.number.to_string())
        .collect();
    let message = format!(
        "{} serves port {}, but {} leads to its pods on {} only",
        server.gateway.id,
        server.port,
        service.id,
        has.join(", ")
    );
    let at = server.node.get("port").unwrap_or(server.node);
    let finding = out.find(
        server.gateway.id.clone(),
        message,
        Evidence::of(server.gateway, at, "the port it serves"),
    );
    let has_ports = service.spec_at(["ports"]).unwrap_or(&service.node);
    finding.see(Evidence::of(service, has_ports, "the ports there are"));
    finding.hits(service.id.clone()).hits(pod.id.clone());
    if let (Some(free), Some(number)) = (free, server.node.at(["port", "number"])) {
        finding.fix(patch::replace(server.gateway, number, free));
    }
    let name = format!(
        "{}-{}",
        server
            .node
            .at(["port", "name"])
            .and_then(Node::str)
            .unwrap_or("tcp"),
        server.port
    );
    let port = server.port;
    let added = Value::object([
        ("name", Value::from(name)),
        ("port", port.into()),
        ("targetPort", port.into()),
    ]);
    finding.fix(patch::set(service, has_ports, "-", added));
}
