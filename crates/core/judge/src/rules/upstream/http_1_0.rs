//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log;
use meshladder_capture::snapshot::{DocId, Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML1007",
    name: "http-1-0-client",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the caller speaks HTTP/1.1 or later",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::Pod]).and(&[Part::Logs, Part::Proxies]),
    explains: &[],
    docs: include_str!("http_1_0.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case)
        .into_iter()
        .find(|told| is_low(told.code, told.details));
    let is_seen = case.saw(426);
    let Some(proof) = told
        .map(|told| told.proof)
        .or_else(|| is_seen.then(|| logged(facts, case)))
    else {
        return;
    };
    let first = case
        .trace
        .hops
        .first()
        .map_or_else(|| "the proxy".to_owned(), |hop| hop.proxy.namespaced_name());
    let message =
        format!("the caller speaks HTTP/1.0, which {first} answers with 426 before any routing");
    let finding = out.find(Subject::Request, message, proof);
    finding.fix(Fix::advice("let the caller speak HTTP/1.1"));
    finding.fix(Fix::advice(
        "or have istiod accept HTTP/1.0 everywhere: PILOT_HTTP10=1; for one gateway set ISTIO_META_HTTP10=\"1\"",
    ));
}

fn is_low(code: u16, details: &str) -> bool {
    code == 426 && details == "low_version"
}

/// Such a request is refused before its path is known, so its line fits no question.
fn logged(facts: &Facts<'_>, case: &Case<'_>) -> Evidence {
    let logs = case.trace.hops.iter().map(|hop| {
        DocId::new(format!(
            "logs/{}/istio-proxy.log",
            hop.proxy.namespaced_name()
        ))
    });
    let line = logs
        .filter_map(|id| facts.snapshot.open(&id).ok())
        .find_map(|doc| {
            let line = access_log::lines(&doc).find(|line| is_low(line.code, &line.details))?;
            Some(accounts::line_shows(&line))
        });
    line.unwrap_or_else(|| {
        Evidence::document(&DocId::new("logs/"), "no line of it was kept: 426 was seen")
    })
}
