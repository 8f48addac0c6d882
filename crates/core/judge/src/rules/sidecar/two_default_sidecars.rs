//! See the page beside this file.

use super::selection::{is_ambient_namespace, labels};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2503",
    name: "two-default-sidecars",
    aka: &["IST0111", "KIA0002"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a namespace has one Sidecar without a selector",
    needs: Inputs::of(&[Kind::Sidecar]),
    uses: Inputs::of(&[Kind::Namespace]),
    explains: &[],
    docs: include_str!("two_default_sidecars.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let sidecars = facts.mesh.objects.of_kind(Kind::Sidecar);
    for of_namespace in sidecars.chunk_by(|a, b| a.id.namespace == b.id.namespace) {
        let defaults: Vec<_> = of_namespace
            .iter()
            .filter(|sidecar| labels(sidecar).is_none())
            .collect();
        out.examined();
        if defaults.len() < 2 || is_ambient_namespace(facts.mesh, &defaults[0].id.namespace) {
            continue;
        }
        for sidecar in &defaults {
            let Some(other) = defaults.iter().find(|other| other.id != sidecar.id) else {
                continue;
            };
            let message = format!(
                "{} and {} are both for all pods of the namespace, and only one of them counts",
                sidecar.id, other.id
            );
            out.find(
                sidecar.id.clone(),
                message,
                Evidence::object(sidecar, "no workloadSelector"),
            )
            .fix(Fix::advice(
                "make them one, or give all but one a workloadSelector",
            ));
        }
    }
}
