//! See the page beside this file.

use super::selection::{labels, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2551",
    name: "root-sidecar-with-selector",
    aka: &["KIA1006"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a Sidecar of the root namespace that is for all pods has no selector",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("root_sidecar_with_selector.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for sidecar in facts
        .mesh
        .objects
        .in_namespace(Kind::Sidecar, &facts.mesh.config.root_namespace)
    {
        out.examined();
        let Some(labels) = labels(sidecar).filter(|_| pods(facts.mesh, sidecar).next().is_none())
        else {
            continue;
        };
        let Some(pod) = facts.mesh.pods_with(None, labels).next() else {
            continue;
        };
        let message = format!(
            "{} selects {}, as {} has it, but a selector is for pods of the Sidecar's own namespace only",
            sidecar.id,
            labels.to_json(),
            pod.id
        );
        out.find(
            sidecar.id.clone(),
            message,
            Evidence::of(sidecar, labels, "what it selects"),
        )
        .see(Evidence::object(pod, "a pod with these labels"))
        .fix(Fix::advice(
            "leave the selector out, or put the Sidecar into the namespace of the pods",
        ));
    }
}
