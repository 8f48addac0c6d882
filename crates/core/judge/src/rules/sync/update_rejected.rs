//! See the page beside this file.

use super::rejection::{self, Blame};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0408",
    name: "update-rejected",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "every proxy accepts what istiod sends",
    needs: Inputs::of(&[Kind::Pod]),
    uses: super::rejection::USES,
    explains: &["ML0313", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("update_rejected.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rejection in rejection::all(facts) {
        out.examined();
        let blame = rejection.blame(facts);
        let is_unknown = matches!(blame, Blame::Unknown);
        let (subject, proof) = match blame {
            Blame::Other(object) => (
                object.id.clone(),
                Evidence::object(object, "the object behind it"),
            ),
            Blame::Unknown => (rejection.pods[0].workload(), rejection.evidence[0].clone()),
            _ => continue,
        };
        let message = format!(
            "{} refuse {} updates of istiod: {}",
            rejection.whom(),
            rejection.kind,
            rejection.said()
        );
        let finding = out.find(subject, message, proof);
        finding.confidence(Confidence::Likely);
        rejection.finish(finding);
        if is_unknown {
            finding.unsettled.extend(facts.unread(Kind::EnvoyFilter));
        }
        finding.fix(Fix::look(shell::command(
            "meshladder pc all {} -n {}",
            &[&rejection.pods[0].name, &rejection.pods[0].namespace],
        )));
    }
}
