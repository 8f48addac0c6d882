//! See the page beside this file.

use super::keep_alive_race;
use crate::finding::{Fix, Rung, Severity};
use crate::rules::accounts::{self, Account};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1002",
    name: "application-closes-connection",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application answers what it has read",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("application_closes_connection.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(told) = closed(facts, case).filter(|_| !keep_alive_race::is_rare(case)) else {
        return;
    };
    let Some(pod) = told.pod else { return };
    let message = format!(
        "the application of {} closes the connection on {} without an answer",
        pod.workload(),
        accounts::call(case)
    );
    let finding = out.find(pod.workload(), message, told.proof);
    finding.hits(pod.reference());
    finding.fix(Fix::advice(
        "look for a crash or a dropped connection in the handler of this path, in the application's log",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {}",
        &[&pod.name, &pod.namespace],
    )));
}

/// `UC` at the server: the connection stood, and the application ended it.
pub(super) fn closed<'r>(facts: &Facts<'r>, case: &'r Case<'_>) -> Option<Account<'r>> {
    accounts::of(facts, case)
        .into_iter()
        .find(|told| told.is_of_application() && told.has("UC"))
}
