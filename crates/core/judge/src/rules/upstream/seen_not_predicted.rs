//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::PodFacts;
use meshladder_sim::trace::EndKind;

pub(super) static RULE: Rule = Rule {
    code: "ML1017",
    name: "seen-not-predicted",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Info,
    claim: "what was seen is what the proxies' configuration leads to",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::ServiceEntry, Kind::Service]).and(&[Part::Logs]),
    explains: &[],
    docs: include_str!("seen_not_predicted.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    // Which HTTP the caller speaks is not in any configuration; that answer is told by itself.
    let Some(seen) = case.seen.filter(|seen| seen.code != 426) else {
        return;
    };
    out.examined();
    let ends = || {
        case.trace
            .branches
            .iter()
            .map(|branch| &branch.end)
            .filter(|end| end.kind != EndKind::Undecided)
    };
    let predicted = ends()
        .any(|end| end.code == seen.code || (seen.is_success() && end.kind == EndKind::Forwarded));
    if predicted || ends().next().is_none() || is_logged(facts, case) {
        return;
    }
    let told: Vec<String> = ends()
        .map(|end| {
            format!("{} {}", end.code, end.details)
                .trim_end()
                .to_owned()
        })
        .collect();
    let message = format!(
        "{} was seen, and by the proxies' configuration it should be {}",
        seen.code,
        told.join(" or ")
    );
    let proof = case
        .trace
        .hops
        .iter()
        .rev()
        .flat_map(|hop| &hop.steps)
        .find_map(|step| step.evidence.first());
    let proof = match proof {
        Some(at) => Evidence::offset(&at.doc, at.offset, "what the proxy would do"),
        None => Evidence::document(&DocId::new("proxies/"), "what the proxies would do"),
    };
    let finding = out.find(Subject::Request, message, proof);
    finding.confidence(Confidence::Possible);
    finding.fix(Fix::advice(
        "take the access logs of both proxies for this request: they tell which of them answered",
    ));
    // With a forwarded request only the application or what lies between is left, and that only
    // logs tell.
    if !seen.is_success() && ends().any(|end| end.kind == EndKind::Forwarded) {
        out.unknown(log_wanted(case, seen));
    }
}

fn log_wanted(case: &Case<'_>, seen: &Symptom) -> String {
    let names = |pods: &mut dyn Iterator<Item = &PodFacts>, or: &str| {
        let names: Vec<String> = pods
            .map(|pod| format!("{}/{}", pod.namespace, pod.name))
            .collect();
        if names.is_empty() {
            or.to_owned()
        } else {
            names.join(", ")
        }
    };
    let servers = names(&mut case.servers.iter().copied(), "the server's proxy");
    if seen.is_of_a_proxy() {
        let client = names(&mut case.client.into_iter(), "the client's proxy");
        return format!(
            "the access logs of {client} and {servers}: which of them ended it with {}",
            seen.in_words()
        );
    }
    format!(
        "the access log of {servers}: whether its application answered {}",
        seen.code
    )
}

/// Whether a log has such an end, so that it needs no prediction.
fn is_logged(facts: &Facts<'_>, case: &Case<'_>) -> bool {
    let success = case.seen.is_some_and(Symptom::is_success);
    success
        || accounts::of(facts, case)
            .iter()
            .any(|told| told.line.is_some() && told.details != "via_upstream")
        || super::application_answers_error::answer(facts, case).is_some()
        || super::application_answers_error::outside_answer(facts, case).is_some()
}
