//! See the page beside this file.

use super::selection::labels;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::workloads::{Selectors, sharing};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2502",
    name: "sidecars-share-a-pod",
    aka: &["IST0110", "KIA0003"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no pod is selected by two Sidecars",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("sidecars_share_a_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let sidecars = facts.mesh.objects.of_kind(Kind::Sidecar);
    out.examined += sidecars.len();
    let selectors = Selectors::by(sidecars.iter(), labels);
    let pods = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .map(|pod| (pod, pod.labels()));
    for (sidecar, other, pod) in sharing(&selectors, pods) {
        let message = format!(
            "{} and {} both select {pod}, and only one of them counts",
            sidecar.id, other.id
        );
        let labels = labels(sidecar).unwrap_or(&sidecar.node);
        out.find(
            sidecar.id.clone(),
            message,
            Evidence::of(sidecar, labels, "what it selects"),
        )
        .hits(pod.clone())
        .fix(Fix::advice("let each pod be selected by one Sidecar"));
    }
}
