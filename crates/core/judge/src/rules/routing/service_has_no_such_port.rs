//! See the page beside this file.

use super::effect::sidecar;
use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::ports;

pub(super) static RULE: Rule = Rule {
    code: "ML0620",
    name: "service-has-no-such-port",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the Service that is called has the port that is called",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod, Kind::ServiceEntry]),
    explains: &["ML07", "ML08", "ML10", "ML0612", "ML0614"],
    docs: include_str!("service_has_no_such_port.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(facts_of) = case.service else {
        return;
    };
    let Some(service) = facts.mesh.service(&facts_of.namespace, &facts_of.name) else {
        return;
    };
    out.examined();
    let port = case.call.to.port;
    let known: Vec<u16> = ports(service).map(|port| port.number).collect();
    // A headless Service resolves to its pods, which may listen on any port; an alias leads
    // elsewhere.
    let is_plain = !facts_of.cluster_ips.is_empty() && facts_of.kind != "ExternalName";
    if known.is_empty()
        || known.contains(&port)
        || !is_plain
        || case.seen.is_some_and(Symptom::is_success)
    {
        return;
    }
    // A ServiceEntry may add ports to the same host.
    if facts
        .mesh
        .registered(&case.host)
        .any(|owner| owner.id.is(Kind::ServiceEntry))
    {
        return;
    }
    let list: Vec<_> = known.iter().map(u16::to_string).collect();
    let message = format!(
        "{} has no port {port}; it has {}",
        service.id,
        list.join(", ")
    );
    let node = service.spec_at(["ports"]).unwrap_or(&service.node);
    let finding = out.find(
        Subject::Request,
        message,
        Evidence::of(service, node, "its ports"),
    );
    finding.hits(service.id.clone());
    finding
        .hits
        .extend(sidecar(facts.mesh, case).map(|client| client.id.clone()));
    for server in &case.servers {
        finding.hits(server.reference());
    }
    finding.fix(Fix::advice(format!(
        "call {}:{}",
        case.host,
        list.join(" or ")
    )));
    finding.fix(Fix::advice(format!("or give {} a port {port}", service.id)));
}
