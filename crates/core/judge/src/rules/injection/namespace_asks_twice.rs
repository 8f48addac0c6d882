//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2803",
    name: "namespace-asks-twice",
    aka: &["IST0123"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "every namespace asks for injection in one way",
    needs: Inputs::of(&[Kind::Namespace]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("namespace_asks_twice.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for namespace in facts.mesh.objects.of_kind(Kind::Namespace) {
        out.examined();
        let injection = namespace.label("istio-injection");
        if injection.is_some_and(|value| value != "enabled") {
            continue;
        }
        let others = ["istio.io/rev", "istio.io/dataplane-mode"]
            .into_iter()
            .filter(|key| namespace.label(key).is_some());
        let case: Vec<&str> = injection
            .map(|_| "istio-injection")
            .into_iter()
            .chain(others)
            .collect();
        if case.len() > 1 {
            let message = format!(
                "{} asks for its pods to be in the mesh in several ways: {}",
                namespace.id,
                case.join(", ")
            );
            let labels = namespace.labels().unwrap_or(&namespace.node);
            out.find(
                namespace.id.clone(),
                message,
                Evidence::of(namespace, labels, "its labels"),
            )
            .fix(Fix::advice("keep one of the labels"));
        }
    }
}
