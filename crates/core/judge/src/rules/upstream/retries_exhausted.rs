//! See the page beside this file.

use super::application_answers_error::answer;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::accounts::{self, Side};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1015",
    name: "retries-exhausted",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "one of the attempts that a retry policy makes succeeds",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::Sidecar]).and(&[Part::Proxies]),
    explains: &["ML1014"],
    docs: include_str!("retries_exhausted.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if !is_exhausted(facts, case) {
        return;
    }
    let Some((told, pod)) = answer(facts, case) else {
        return;
    };
    let message = format!(
        "the application of {} answers every attempt of {} with {}, until the retries are used up",
        pod.workload(),
        accounts::call(case),
        told.code
    );
    let finding = out.find(pod.workload(), message, told.proof);
    finding.hits(pod.reference());
    for line in case
        .client_log
        .iter()
        .filter(|line| line.has("URX"))
        .take(1)
    {
        finding.see(accounts::line_shows(line));
    }
    for service in accounts::virtual_services(facts, case) {
        if let Some(retries) = service
            .spec_list("http")
            .iter()
            .find_map(|route| route.get("retries"))
        {
            finding.see(Evidence::of(service, retries, "what is retried"));
        }
    }
    finding.fix(Fix::advice(
        "repair the application; retries of its answers only multiply the load",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {}",
        &[&pod.name, &pod.namespace],
    )));
}

/// Whether the caller's proxy gave up retrying answers, not connections.
pub(super) fn is_exhausted(facts: &Facts<'_>, case: &Case<'_>) -> bool {
    let told = accounts::of(facts, case);
    told.iter()
        .any(|told| told.side == Side::Client && told.has("URX") && told.details == "via_upstream")
        || case.seen.is_some_and(|seen| seen.flags == ["URX"])
}
