//! See the page beside this file.

use super::webhook::validators;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::injection::Injector;
use meshladder_text::tree::Node;
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
        let service = served.service.filter(|_| !served.is_misdirected);
        let subject = service.map_or(config, |service| &service.id);
        let finding = out.find(
            subject.clone(),
            message,
            Evidence::of(hook.config, served.node, "whom the API server asks"),
        );
        // It hits no traffic: only who changes objects meets it.
        finding.hits(config.clone());
        if served.is_misdirected {
            finding.fix(redirect(&hook, served.node));
        } else if service.is_none() {
            finding.fix(Fix::delete(config));
        } else {
            finding.fix(Fix::advice(
                "bring istiod back: its Service has no ready endpoint",
            ));
        }
    }
}

/// The webhook as Istio installs it.
fn redirect(hook: &Injector<'_>, service: &Node) -> Fix {
    let at = hook.config.path_of(service);
    let ops = [
        Op::add(format!("{at}/port"), 443_u16),
        Op::add(format!("{at}/path"), "/validate"),
    ];
    Fix::patch(&hook.config.id, ops)
}
