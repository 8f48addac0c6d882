//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::{ServicePort, number, ports};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0726",
    name: "slice-lacks-port",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "an EndpointSlice that somebody wrote has the ports of its Service, by their names",
    needs: Inputs::of(&[Kind::Service, Kind::EndpointSlice]),
    uses: Inputs::of(&[Kind::Pod, Kind::ServiceEntry]),
    explains: &["ML0708", "ML10"],
    docs: include_str!("slice_lacks_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        let slices: Vec<&Object> = facts.mesh.endpoint_slices(called.service).collect();
        if called_service::selector(called.service).is_some() || slices.is_empty() {
            continue;
        }
        out.examined();
        for port in
            ports(called.service).filter(|port| called.port.is_none_or(|case| case == port.number))
        {
            if let Some(slice) = slices
                .first()
                .filter(|_| !slices.iter().any(|slice| has(slice, &port)))
            {
                tell(called.service, &port, slice, case, out);
            }
        }
    }
}

/// "The name of this port. All ports in an EndpointSlice must have a unique name": the Service's
/// port of that name.
fn has(slice: &Object, port: &ServicePort<'_>) -> bool {
    listed(slice)
        .iter()
        .any(|listed| listed.str_at("name").unwrap_or_default() == port.name)
}

fn listed(slice: &Object) -> &[Node] {
    slice.node.get("ports").map_or(&[][..], Node::items)
}

fn tell(
    service: &Object,
    port: &ServicePort<'_>,
    slice: &Object,
    case: Option<&Case<'_>>,
    out: &mut Sink,
) {
    let name = if port.name.is_empty() {
        "without a name".to_owned()
    } else {
        format!("named {}", port.name)
    };
    let message = format!(
        "{} has no port {name}, as port {} of {} is, so the Service's port has no endpoint",
        slice.id, port.number, service.id
    );
    let at = slice.node.get("ports").unwrap_or(&slice.node);
    let finding = out.find(
        slice.id.clone(),
        message,
        Evidence::of(slice, at, "the ports it has"),
    );
    finding.see(Evidence::of(service, port.node, "the Service's port"));
    called_service::hit(finding, service, &[], case);
    if case.is_none() {
        finding.severity(Severity::Warning);
    }
    if let [only] = listed(slice)
        && only.get("port").and_then(number).is_some()
        && ports(service).count() == 1
    {
        let path = format!("{}/name", slice.path_of(only));
        let op = if only.get("name").is_some() {
            Op::replace(path, port.name)
        } else {
            Op::add(path, port.name)
        };
        finding.fix(Fix::patch(&slice.id, [op]));
    }
}
