//! See the page beside this file.

use crate::finding::{Fix, Rung, Severity};
use crate::rules::accounts::{self, Account};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1023",
    name: "application-breaks-protocol",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "what the application answers is HTTP",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &["ML1014"],
    docs: include_str!("application_breaks_protocol.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    // To HTTP/2 a server that only speaks HTTP/1.1 looks like this too, and has a rule of its own.
    let is_it = |told: &Account<'_>| {
        let is_plain = |line: &AccessLine| line.protocol.starts_with("HTTP/1");
        told.is_of_application() && told.has("UPE") && told.line.is_some_and(is_plain)
    };
    let told = accounts::of(facts, case).into_iter().find(is_it);
    let Some((told, pod)) = told.and_then(|told| told.pod.map(|pod| (told, pod))) else {
        return;
    };
    let message = format!(
        "the application of {} answers {} with bytes that are no HTTP response, as when it speaks TLS itself on that port",
        pod.workload(),
        accounts::call(case)
    );
    let finding = out.find(pod.workload(), message, told.proof);
    finding.hits(pod.reference());
    finding.fix(Fix::advice(
        "let the application speak plain HTTP there, or name the port for what it speaks (`https-`, `tcp-`)",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {}",
        &[&pod.name, &pod.namespace],
    )));
}
