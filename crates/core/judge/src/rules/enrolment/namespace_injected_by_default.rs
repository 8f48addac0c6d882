//! See the page beside this file.

use super::labels::{is_default, unlabelled};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML2804",
    name: "namespace-injected-by-default",
    aka: &["IST0148"],
    rung: Rung::Enrolment,
    severity: Severity::Info,
    claim: "every namespace says whether its pods are injected, when the default is that they are",
    needs: Inputs::of(&[Kind::Namespace, Kind::ConfigMap]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("namespace_injected_by_default.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if !is_default(facts.mesh) {
        return;
    }
    for namespace in unlabelled(facts.mesh) {
        out.examined();
        let message = format!(
            "{} has no label for injection, and its pods are injected by default",
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
