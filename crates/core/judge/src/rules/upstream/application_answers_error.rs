//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::accounts::{self, Account, Side};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1001",
    name: "application-answers-error",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application answers without an error",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::Service]).and(&[Part::Proxies]),
    explains: &["ML1014"],
    docs: include_str!("application_answers_error.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some((told, pod)) = answer(facts, case) else {
        return from_outside(facts, case, out);
    };
    // Then every attempt was answered so, which is told by itself.
    if super::retries_exhausted::is_exhausted(facts, case) {
        return;
    }
    let message = format!(
        "the application of {} itself answers {} with {}; no proxy made that answer",
        pod.workload(),
        accounts::call(case),
        told.code
    );
    let finding = out.find(pod.workload(), message, told.proof);
    finding.hits(pod.reference());
    if let Some(line) = case
        .client_log
        .iter()
        .find(|line| line.code == told.code && line.details == "via_upstream")
    {
        finding.see(accounts::line_shows(line));
    }
    finding.fix(Fix::advice(
        "look into the application's own log; the mesh only relays its answer",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {}",
        &[&pod.name, &pod.namespace],
    )));
}

fn from_outside(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some((told, entry)) = outside_answer(facts, case) else {
        return;
    };
    let message = format!(
        "{}, which is outside the mesh, itself answers {} with {}; no proxy made that answer",
        case.host,
        accounts::call(case),
        told.code
    );
    let finding = out.find(entry.id.clone(), message, told.proof);
    finding.see(Evidence::object(entry, "what it is called by"));
    finding.hits.extend(case.client.map(PodFacts::reference));
    finding.fix(Fix::advice(
        "ask whoever runs it; the mesh only relays its answer",
    ));
}

/// An error that a host outside wrote, as the caller's proxy relays it.
pub(super) fn outside_answer<'r>(
    facts: &Facts<'r>,
    case: &'r Case<'_>,
) -> Option<(Account<'r>, &'r Object)> {
    let entry = accounts::outside(facts, case)?;
    let told = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.side == Side::Client && relays(told))?;
    Some((told, entry))
}

fn relays(told: &Account<'_>) -> bool {
    let is_whole = told.flags.iter().all(|flag| *flag == "URX") && told.details == "via_upstream";
    told.code >= 400 && is_whole && told.line.is_some()
}

/// An error that the application wrote: the server's proxy relays it, or the server has no proxy
/// and the client's does.
pub(super) fn answer<'r>(
    facts: &Facts<'r>,
    case: &'r Case<'_>,
) -> Option<(Account<'r>, &'r PodFacts)> {
    accounts::of(facts, case)
        .into_iter()
        .filter(relays)
        .find_map(|told| {
            let pod = match told.side {
                Side::Server if told.is_of_application() => told.pod,
                Side::Client => {
                    accounts::pod_called(facts, told.line?).filter(|pod| !pod.has_proxy)
                }
                Side::Server => None,
            };
            pod.map(|pod| (told, pod))
        })
}
