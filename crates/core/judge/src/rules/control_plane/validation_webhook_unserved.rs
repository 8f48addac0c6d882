//! See the page beside this file.

use super::webhook::validators;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0202",
    name: "validation-webhook-unserved",
    aka: &["IST0139"],
    rung: Rung::ControlPlane,
    severity: Severity::Warning,
    claim: "a webhook that must be asked about Istio's objects answers",
    needs: Inputs::of(&[Kind::ValidatingWebhook, Kind::Service, Kind::EndpointSlice]),
    uses: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook, Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("validation_webhook_unserved.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for hook in validators(facts.mesh) {
        out.examined();
        let served = injectors.served(hook);
        if served.answers != Tri::No || !hook.fails_closed() {
            continue;
        }
        let config = &hook.config.id;
        let message = format!(
            "{config} has every change of Istio's objects refused: {}",
            served.what
        );
        let subject = served.service.map_or(config, |service| &service.id);
        let finding = out.find(
            subject.clone(),
            message,
            Evidence::of(hook.config, served.node, "whom the API server asks"),
        );
        // It hits no traffic: only who changes objects meets it.
        finding.hits(config.clone());
        if served.service.is_none() {
            finding.fix(Fix::delete(config));
        } else {
            finding.fix(Fix::advice(
                "bring istiod back: its Service has no ready endpoint",
            ));
        }
    }
}
