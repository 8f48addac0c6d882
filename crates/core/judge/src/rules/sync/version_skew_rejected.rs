//! See the page beside this file.

use super::rejection::{self, Blame};
use crate::finding::{Fix, Risk, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0407",
    name: "version-skew-rejected",
    aka: &["IST0158"],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "every proxy understands what its istiod sends",
    needs: Inputs::of(&[Kind::Pod]),
    uses: super::rejection::USES,
    explains: &["ML0313", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("version_skew_rejected.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rejection in rejection::all(facts) {
        out.examined();
        let Blame::VersionSkew(proxy, istiod) = rejection.blame(facts) else {
            continue;
        };
        let Some(pod) = rejection.pods.first() else {
            continue;
        };
        let workload = pod.workload();
        let message = format!(
            "{}, version {proxy}, cannot read the {} of istiod {istiod}: {}",
            rejection.whom(),
            rejection.kind,
            rejection.said()
        );
        let finding = out.find(workload.clone(), message, rejection.evidence[0].clone());
        rejection.finish(finding);
        let restart = shell::command(
            "kubectl rollout restart {}/{} -n {}",
            &[
                &workload.kind.to_lowercase(),
                &workload.name,
                &workload.namespace,
            ],
        );
        finding.fix(Fix::command(Risk::Disruptive, restart));
    }
}
