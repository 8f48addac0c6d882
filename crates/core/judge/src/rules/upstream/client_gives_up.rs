//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::accounts::{self, Side};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML1004",
    name: "client-gives-up",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Warning,
    claim: "the caller waits for the answer",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    explains: &[],
    docs: include_str!("client_gives_up.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case);
    let gave_up = |flag: &str| ["DC", "DR"].contains(&flag);
    let at_client = told
        .iter()
        .find(|told| told.side == Side::Client && told.flags.iter().any(|flag| gave_up(flag)));
    let is_seen = case
        .seen
        .is_some_and(|seen| seen.flags.iter().any(|flag| gave_up(flag)));
    // Where the caller's own proxy ran into a timeout, it is that proxy which hung up on the
    // server.
    let at_server = told
        .iter()
        .find(|told| told.side == Side::Server && told.flags.iter().any(|flag| gave_up(flag)));
    let timed_out = case.client_log.iter().any(|line| line.has("UT"));
    if let Some(told) = at_client.or(at_server.filter(|_| !timed_out)) {
        tell(
            case,
            told.line.and_then(|line| line.duration),
            told.proof.clone(),
            out,
        );
    } else if is_seen {
        tell(
            case,
            None,
            Evidence::document(&DocId::new("logs/"), "no line of it was kept"),
            out,
        );
    }
}

fn tell(case: &Case<'_>, after: Option<u64>, proof: Evidence, out: &mut Sink) {
    let after = after
        .map(|after| format!(" after {after} ms"))
        .unwrap_or_default();
    let message = format!(
        "the caller of {} hangs up{after}, before the answer is there",
        accounts::call(case)
    );
    let finding = out.find(Subject::Request, message, proof);
    finding.fix(Fix::advice(
        "give the caller more time than the work takes, or leave DC out of the error budget",
    ));
}
