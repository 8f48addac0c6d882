//! See the page beside this file.

use super::{GATEWAYS, PODS, SERVICES, met, patch};
use crate::doc::tree::{Node, Value};
use crate::finding::{Evidence, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::gateways::{Server, servers};
use crate::mesh::services::{ports, target_port};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0509",
    name: "gateway-port-not-on-service",
    aka: &["IST0104"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every port of a Gateway is one that a Service of its pods leads to",
    needs: &[GATEWAYS, PODS, SERVICES],
    uses: &[],
    explains: &["ML06"],
    docs: include_str!("gateway_port_not_on_service.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of("Gateway", "networking.istio.io") {
        // Without pods it is another matter.
        let pods = facts.mesh.gateway_pods(gateway);
        let Some(pod) = pods.first() else { continue };
        let services = facts.mesh.services_of(pod);
        if services.is_empty() || has_host_ports(pod) {
            continue;
        }
        for server in servers(gateway) {
            if asked.is_some_and(|asked| !meets(asked, &server)) {
                continue;
            }
            out.examined();
            if !services.iter().any(|service| leads_to(service, pod, server.port)) {
                tell(&server, pod, &services, out);
            }
        }
    }
}

fn meets(asked: &Asked<'_>, server: &Server<'_>) -> bool {
    met::is_through_gateway(asked) && met::fails(asked) && asked.question.to.port == server.port
}

/// A server's port is the Service's, or the pod's own.
fn leads_to(service: &Stored, pod: &Stored, wanted: u16) -> bool {
    ports(service).any(|port| port.number == wanted || target_port(&port, pod) == Some(wanted))
}

/// A port of the node leads to the pod without any Service.
fn has_host_ports(pod: &Stored) -> bool {
    let on_host = pod.spec_at(["hostNetwork"]).is_some_and(|on| on.value == Value::Bool(true));
    let containers = pod.spec_list("containers").iter();
    let mut ports = containers.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    on_host || ports.any(|port| port.get("hostPort").is_some())
}

fn tell(server: &Server<'_>, pod: &Stored, services: &[&Stored], out: &mut Sink) {
    let service = services[0];
    let has: Vec<String> = services.iter().flat_map(|s| ports(s)).map(|port| port.number.to_string()).collect();
    let message = format!(
        "{} serves port {}, but {} leads to its pods on {} only",
        server.gateway.id,
        server.port,
        service.id,
        has.join(", ")
    );
    let at = server.node.get("port").unwrap_or(server.node);
    let finding = out.find(server.gateway.id.clone(), message, Evidence::of(server.gateway, at, "the port it serves"));
    let has_ports = service.spec_at(["ports"]).unwrap_or(&service.node);
    finding.see(Evidence::of(service, has_ports, "the ports there are"));
    finding.hits(service.id.clone()).hits(pod.id.clone());
    let name = format!("{}-{}", server.node.at(["port", "name"]).and_then(Node::str).unwrap_or("tcp"), server.port);
    let port = server.port;
    let value = format!(r#"{{"name":"{name}","port":{port},"targetPort":{port}}}"#);
    finding.fix(patch::set(service, has_ports, "-", &value));
}
