//! See the page beside this file.

use super::effect;
use crate::finding::{Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::traffic::StepKind;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::{Node, Value};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0605",
    name: "virtual-service-loses-its-host",
    aka: &["IST0109", "KIA1106"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "no two VirtualServices want the same host for the same sidecars",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_loses_its_host.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::VirtualService).len();
    for lost in effect::lost_at(facts, case, StepKind::NotShadowed) {
        let Some(step) = lost.at() else { continue };
        let Some((winner, _)) = step
            .by
            .filter(|(winner, _)| case.is_some() || !repeats(winner, lost.service))
        else {
            continue;
        };
        let service = &lost.service.id;
        let message = format!(
            "{service} has no effect on calls to {}: {}{}",
            lost.host.str().unwrap_or_default(),
            step.why.replace(": ", " because "),
            lost.consequence()
        );
        // A client's own namespace overrides what the Service's owner asks for: that one is then to
        // be changed.
        let overrides = case.and_then(|case| case.client).is_some_and(|client| {
            client.namespace == winner.id.namespace && client.namespace != service.namespace
        });
        let (subject, other) = if overrides {
            (&winner.id, service)
        } else {
            (service, &winner.id)
        };
        let finding = out.find(subject.clone(), message, lost.proof());
        finding.hits(other.clone());
        lost.tell(finding);
        offer(finding, winner, lost.service, service);
    }
}

fn offer(finding: &mut Finding, winner: &Object, loser: &Object, service: &ObjectRef) {
    let both = loser
        .spec_list("http")
        .iter()
        .chain(winner.spec_list("http"));
    finding.fix(Fix::merge(
        &winner.id,
        Value::nested(["spec", "http"], Value::list(both)),
    ));
    finding.fix(Fix::delete(&winner.id));
    finding.fix(Fix::advice(format!(
        "for sidecars VirtualServices of one host are not merged: put the routes of {service} into {}, in the order \
         they should be tried",
        winner.id
    )));
}

/// Whether one starts with all routes of the other, so that nothing is lost.
fn repeats(winner: &Object, loser: &Object) -> bool {
    ["http", "tls", "tcp"].into_iter().all(|kind| {
        let texts = |object: &Object| {
            object
                .spec_list(kind)
                .iter()
                .map(Node::to_json)
                .collect::<Vec<_>>()
        };
        texts(winner).starts_with(&texts(loser))
    })
}
