//! See the page beside this file.

use super::labels::{is_default, unlabelled};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML2801",
    name: "namespace-not-injected",
    aka: &["IST0102"],
    rung: Rung::Enrolment,
    severity: Severity::Info,
    claim: "every namespace says whether its pods are injected",
    needs: Inputs::of(&[Kind::Namespace]),
    uses: Inputs::of(&[Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("namespace_not_injected.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if is_default(facts.mesh) {
        return;
    }
    for namespace in unlabelled(facts.mesh) {
        out.examined();
        let message = format!(
            "{} does not ask for injection, so its pods are not in the mesh",
            namespace.id
        );
        out.find(
            namespace.id.clone(),
            message,
            Evidence::object(namespace, "no label for injection"),
        )
        .fix(Fix::merge(
            &namespace.id,
            Value::nested(["metadata", "labels", "istio-injection"], "enabled"),
        ));
    }
}
