//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::selection::{labels, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::{ObjectRef, Stored};
use crate::rules::analyzed::{PODS, SIDECARS};
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML2502",
    name: "sidecars-share-a-pod",
    aka: &["IST0110", "KIA0003"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no pod is selected by two Sidecars",
    needs: &[SIDECARS, PODS],
    uses: &[],
    explains: &[],
    docs: include_str!("sidecars_share_a_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut of_pod: BTreeMap<&ObjectRef, Vec<&Stored>> = BTreeMap::new();
    for sidecar in facts.mesh.objects.of_kind("Sidecar") {
        out.examined();
        for pod in pods(facts.mesh, sidecar) {
            of_pod.entry(&pod.id).or_default().push(sidecar);
        }
    }
    let mut told = BTreeSet::new();
    for (pod, sidecars) in of_pod.iter().filter(|(_, sidecars)| sidecars.len() > 1) {
        for sidecar in sidecars {
            let Some(other) = sidecars.iter().find(|other| other.id != sidecar.id) else { continue };
            if told.insert(&sidecar.id) {
                let message = format!("{} and {} both select {pod}, and only one of them counts", sidecar.id, other.id);
                let labels = labels(sidecar).unwrap_or(&sidecar.node);
                out.find(sidecar.id.clone(), message, Evidence::of(sidecar, labels, "what it selects"))
                    .hits((*pod).clone())
                    .fix(Fix::advice("let each pod be selected by one Sidecar"));
            }
        }
    }
}
