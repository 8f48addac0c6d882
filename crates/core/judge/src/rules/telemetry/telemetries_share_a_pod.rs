//! See the page beside this file.

use super::selection::labels;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::workloads::{Selectors, sharing};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3102",
    name: "telemetries-share-a-pod",
    aka: &["IST0159"],
    rung: Rung::Telemetry,
    severity: Severity::Error,
    claim: "no pod is selected by two Telemetries",
    needs: Inputs::of(&[Kind::Telemetry, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("telemetries_share_a_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let telemetries = facts.mesh.objects.of_kind(Kind::Telemetry);
    out.examined += telemetries.len();
    let selectors = Selectors::by(telemetries.iter(), labels);
    let pods = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .map(|pod| (pod, pod.labels()));
    for (telemetry, other, pod) in sharing(&selectors, pods) {
        let message = format!(
            "{} and {} both select {pod}, and only one of them counts",
            telemetry.id, other.id
        );
        let labels = labels(telemetry).unwrap_or(&telemetry.node);
        out.find(
            telemetry.id.clone(),
            message,
            Evidence::of(telemetry, labels, "what it selects"),
        )
        .hits(pod.clone())
        .fix(Fix::advice("let each pod be selected by one Telemetry"));
    }
}
