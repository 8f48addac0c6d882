//! See the page beside this file.

use std::collections::BTreeSet;

use super::hooks::injectors;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3202",
    name: "webhook-service-unknown",
    aka: &["IST0139"],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "the Service that an injector webhook calls exists",
    needs: Inputs::of(&[Kind::MutatingWebhook, Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("webhook_service_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut told = BTreeSet::new();
    for hook in injectors(facts.mesh) {
        out.examined();
        let Some(service) = hook.client("service") else {
            continue;
        };
        let text = |key: &str| service.str_at(key).unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        if facts.mesh.service(namespace, name).is_some()
            || !told.insert((&hook.config.id, namespace, name))
        {
            continue;
        }
        let message = format!(
            "webhook {} of {} calls Service {namespace}/{name}, and there is none",
            hook.name, hook.config.id
        );
        out.find(
            hook.config.id.clone(),
            message,
            Evidence::of(hook.config, service, "the Service it calls"),
        )
        .fix(Fix::advice(
            "name the Service of istiod, or delete what is left of an istiod that is gone",
        ));
    }
}
