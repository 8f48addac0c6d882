//! See the page beside this file.

use super::selection::{labels, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2501",
    name: "sidecar-selects-no-pod",
    aka: &["IST0101", "KIA0004"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Sidecar with a selector selects a pod",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("sidecar_selects_no_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for sidecar in facts.mesh.objects.of_kind(Kind::Sidecar) {
        out.examined();
        let Some(labels) = labels(sidecar) else {
            continue;
        };
        if pods(facts.mesh, sidecar).next().is_none() {
            let message = format!(
                "{} selects {}, and no pod of its namespace has these labels",
                sidecar.id,
                labels.to_json()
            );
            out.find(
                sidecar.id.clone(),
                message,
                Evidence::of(sidecar, labels, "what it selects"),
            )
            .fix(Fix::advice("select the labels that the pods have"));
        }
    }
}
