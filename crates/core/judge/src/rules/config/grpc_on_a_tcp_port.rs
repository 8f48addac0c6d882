//! See the page beside this file.

use super::patch;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::{Protocol, ServicePort, number, ports, target_port};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0516",
    name: "grpc-on-a-tcp-port",
    aka: &["IST0118", "KIA0601"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every port that serves gRPC is one that Istio takes for gRPC",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML06", "ML07"],
    docs: include_str!("grpc_on_a_tcp_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::Service) {
        for port in ports(service) {
            if case.is_some_and(|case| !meets(case, service, port.number)) {
                continue;
            }
            out.examined();
            if !matches!(port.protocol, Protocol::Tcp | Protocol::Sniffed) {
                continue;
            }
            if let Some(proof) = proof(facts.mesh, service, &port) {
                tell(service, &port, proof, out);
            }
        }
    }
}

fn meets(case: &Case<'_>, service: &Object, port: u16) -> bool {
    let is_called = case
        .service
        .is_some_and(|s| s.name == service.id.name && s.namespace == service.id.namespace);
    is_called && case.call.to.port == port
}

/// What says that gRPC is spoken there: the port's own name, or the container's port or probe
/// behind it.
fn proof(mesh: &Mesh, service: &Object, port: &ServicePort<'_>) -> Option<Evidence> {
    let speaks = |name: &str| name.split('-').any(|word| word == "grpc");
    if speaks(port.name) {
        return Some(Evidence::of(
            service,
            port.node.get("name")?,
            "the name says gRPC, but not in front",
        ));
    }
    let pod = mesh.selected_pods(service).into_iter().next()?;
    let target = target_port(port, pod)?;
    for container in pod.spec_list("containers") {
        let ports = container.get("ports").map_or(&[][..], Node::items).iter();
        let named = ports.filter(|p| p.get("containerPort").and_then(number) == Some(target));
        let named = named
            .filter_map(|p| p.get("name"))
            .find(|name| name.str().is_some_and(speaks));
        let grpc = ["readinessProbe", "livenessProbe", "startupProbe"]
            .map(|probe| container.at([probe, "grpc"]));
        let is_target = |grpc: &&Node| grpc.get("port").and_then(number) == Some(target);
        if let Some(node) = named.or_else(|| grpc.into_iter().flatten().find(is_target)) {
            return Some(Evidence::of(
                pod,
                node,
                "the container speaks gRPC on that port",
            ));
        }
    }
    None
}

fn tell(service: &Object, port: &ServicePort<'_>, proof: Evidence, out: &mut Sink) {
    let (takes, harm) = match port.protocol {
        Protocol::Tcp => (
            "takes it for TCP",
            "all calls of a connection go to one pod",
        ),
        _ => (
            "has to guess its protocol",
            "it looks at the first bytes of each connection",
        ),
    };
    let called = if port.name.is_empty() {
        "without a name".to_owned()
    } else {
        format!("named {}", port.name)
    };
    let message = format!(
        "port {} of {}, {called}, serves gRPC, but Istio {takes}: {harm}",
        port.number, service.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the port"),
    );
    finding.see(proof);
    if port.protocol == Protocol::Sniffed {
        finding.severity(Severity::Info);
    }
    finding.fix(patch::set(service, port.node, "appProtocol", "grpc"));
    finding.fix(Fix::advice(
        "start the port's name with grpc, or set appProtocol: grpc",
    ));
}
