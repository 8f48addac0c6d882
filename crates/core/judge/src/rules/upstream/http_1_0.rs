//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::PodFacts;
use meshladder_sim::walk::Scheme;

pub(super) static RULE: Rule = Rule {
    code: "ML1007",
    name: "http-1-0-client",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the caller speaks HTTP/1.1 or later",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::Pod, Kind::Service]).and(&[Part::Logs, Part::Proxies]),
    explains: &[],
    docs: include_str!("http_1_0.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if let Some((line, client)) = unrecognized(facts, case) {
        return tell_unrecognized(&line, client, out);
    }
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

/// A call to a Service that the client's proxy took for TCP: its listener looks for HTTP/1.1 and
/// HTTP/2 only, and what is neither leaves as plain text for where the client wanted it.
fn unrecognized<'r>(facts: &Facts<'r>, case: &Case<'r>) -> Option<(AccessLine, &'r PodFacts)> {
    let client = case.client.filter(|client| client.has_proxy)?;
    let is_failure = case.seen.is_none_or(|seen| seen.code == 0);
    let is_plain = case.call.to.scheme == Scheme::Http;
    let (_, port) =
        accounts::called_port(facts, case).filter(|(_, port)| port.protocol.is_http())?;
    let addresses = &case.service?.cluster_ips;
    let stored = facts
        .mesh
        .objects
        .get(Kind::Pod, &client.namespace, &client.name)?;
    let log = called_service::proxy_log(facts, stored)?;
    let is_it = |line: &AccessLine| {
        let called = line.local.parse::<std::net::SocketAddr>().ok();
        let is_service =
            called.is_some_and(|at| at.port() == port.number && addresses.contains(&at.ip()));
        line.method.is_empty() && line.cluster == "PassthroughCluster" && is_service
    };
    let line = access_log::lines(&log).filter(is_it).last()?;
    let is_newer = |other: &AccessLine| other.start > line.start;
    let is_last = !case.client_log.iter().any(is_newer);
    (is_failure && is_plain && is_last).then_some((line, client))
}

fn tell_unrecognized(line: &AccessLine, client: &PodFacts, out: &mut Sink) {
    let message = format!(
        "the proxy of {} takes the request for TCP, not for HTTP/1.1 or HTTP/2, as with HTTP/1.0: it skips all routes and leaves in plain text, which a STRICT server refuses",
        client.workload()
    );
    let finding = out.find(Subject::Request, message, accounts::line_shows(line));
    finding.hits(client.reference());
    finding.fix(Fix::advice("let the caller speak HTTP/1.1"));
    finding.fix(Fix::advice(
        "or have istiod accept HTTP/1.0: PILOT_HTTP10=1, or ISTIO_META_HTTP10=\"1\" for this proxy",
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
