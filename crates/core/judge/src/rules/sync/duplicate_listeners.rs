//! See the page beside this file.

use super::rejection::{self, Blame};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML0405",
    name: "duplicate-listeners",
    aka: &["IST0145", "KIA1211"],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "no two objects ask for the same listener",
    needs: Inputs::of(&[Kind::Pod]),
    uses: super::rejection::USES,
    explains: &["ML0313", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("duplicate_listeners.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rejection in rejection::all(facts) {
        out.examined();
        let Blame::Duplicate(newer, older, node) = rejection.blame(facts) else {
            continue;
        };
        let message = format!(
            "{} claims the same port and name as {}, so {} refuse their {} updates: {}",
            newer.id,
            older.id,
            rejection.whom(),
            rejection.kind,
            rejection.said()
        );
        let finding = out.find(
            newer.id.clone(),
            message,
            Evidence::of(newer, node, "claimed twice"),
        );
        finding.see(Evidence::object(older, "the one that was there first"));
        rejection.finish(finding);
        finding.fix(Fix::delete(&newer.id));
        finding.fix(Fix::advice(format!(
            "merge {} into {}, or give one of them another port or name",
            newer.id, older.id
        )));
    }
}
