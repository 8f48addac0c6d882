//! See the page beside this file.

use super::called_service::{self, CalledService};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::services::is_ready;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0705",
    name: "endpoint-slices-empty",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every Service with ready pods, or without a selector, has endpoints in its EndpointSlices",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::EndpointSlice]),
    uses: Inputs::of(&[Kind::ServiceEntry]),
    explains: &["ML0707", "ML0708", "ML0709"],
    docs: include_str!("endpoint_slices_empty.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        if called
            .service
            .spec_at(["type"])
            .and_then(meshladder_text::tree::Node::str)
            == Some("ExternalName")
        {
            continue;
        }
        out.examined();
        if facts
            .mesh
            .endpoints(called.service)
            .iter()
            .any(|endpoint| endpoint.is_ready)
            || has_entry(facts, &called)
        {
            continue;
        }
        let id = &called.service.id;
        let ready: Vec<_> = called
            .pods(facts.mesh, None)
            .into_iter()
            .filter(|pod| is_ready(pod))
            .collect();
        let slices = facts.mesh.endpoint_slices(called.service).next();
        let proof = slices.map_or_else(
            || {
                Evidence::document(
                    &DocId::new(Kind::EndpointSlice.path()),
                    "no EndpointSlice of the Service",
                )
            },
            |slice| Evidence::object(slice, "an EndpointSlice without a ready endpoint"),
        );
        match (
            called_service::selector(called.service).is_some(),
            ready.is_empty(),
        ) {
            (true, false) => {
                let pods = called_service::count(ready.len(), "ready pod");
                let message =
                    format!("{id} selects {pods}, but no EndpointSlice of it has a ready endpoint");
                let finding = out.find(id.clone(), message, proof);
                called_service::hit(finding, called.service, &ready, case);
                // Pods and slices are not read in the same instant.
                finding.confidence(Confidence::Likely);
                finding.fix(Fix::look(shell::command(
                    "kubectl get endpointslices -n {} -l kubernetes.io/service-name={}",
                    &[&id.namespace, &id.name],
                )));
                finding.fix(Fix::advice(
                    "see whether the kube-controller-manager, which fills EndpointSlices, is well",
                ));
            }
            (false, _) => {
                let message =
                    format!("{id} has no selector, and nobody made an EndpointSlice for it");
                let finding = out.find(id.clone(), message, proof);
                called_service::hit(finding, called.service, &[], case);
                if case.is_none() {
                    finding.severity(Severity::Info);
                }
                finding.fix(Fix::advice(format!(
                    "give {id} a selector, or an EndpointSlice with the addresses it stands for"
                )));
            }
            (true, true) => {}
        }
    }
}

/// A ServiceEntry of the same host brings endpoints of its own.
fn has_entry(facts: &Facts<'_>, called: &CalledService<'_>) -> bool {
    facts
        .mesh
        .registered(&called.host(facts))
        .any(|object| object.id.is(Kind::ServiceEntry))
}
