//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Namespace]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
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
