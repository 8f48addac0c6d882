//! See the page beside this file.

use super::selection::{labels, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3101",
    name: "telemetry-selects-no-pod",
    aka: &["IST0101", "KIA0004"],
    rung: Rung::Telemetry,
    severity: Severity::Error,
    claim: "every Telemetry with a selector selects a pod",
    needs: Inputs::of(&[Kind::Telemetry, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("telemetry_selects_no_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for telemetry in facts.mesh.objects.of_kind(Kind::Telemetry) {
        out.examined();
        let Some(labels) = labels(telemetry) else {
            continue;
        };
        if pods(facts.mesh, telemetry).next().is_none() {
            let message = format!(
                "{} selects {}, and no pod of its namespace has these labels",
                telemetry.id,
                labels.to_json()
            );
            out.find(
                telemetry.id.clone(),
                message,
                Evidence::of(telemetry, labels, "what it selects"),
            )
            .fix(Fix::advice("select the labels that the pods have"));
        }
    }
}
