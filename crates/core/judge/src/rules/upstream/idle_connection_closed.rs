//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_sim::walk::Scheme;
use meshladder_text::duration::milliseconds;

pub(super) static RULE: Rule = Rule {
    code: "ML1020",
    name: "idle-connection-closed",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "a DestinationRule lets TCP connections be idle as long as their clients are",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies]),
    explains: &[],
    docs: include_str!("idle_connection_closed.md"),
    check: Check::Request(check),
};

/// Envoy sets no flag when a TCP connection was idle for too long: that it lasted as long as the
/// rule says is all there is.
fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if case.call.to.scheme != Scheme::Tcp || case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let Some((rule, pool)) = accounts::client_setting(facts, case, "connectionPool") else {
        return;
    };
    let limits = ["idleTimeout", "maxConnectionDuration"]
        .into_iter()
        .filter_map(|key| pool.at(["tcp", key]));
    let limit = limits.into_iter().find_map(|node| {
        let ms = milliseconds(node.str()?)?;
        Some((node, case.client_log.iter().rfind(|line| lasted(line, ms))?))
    });
    let Some((node, line)) = limit else { return };
    let message = format!(
        "{} has connections to {} closed after {}, which is how long they lasted",
        rule.id,
        case.host,
        node.str().unwrap_or_default()
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, node, "the time that it allows"),
    );
    finding
        .see(accounts::line_shows(line))
        .confidence(Confidence::Likely);
    finding
        .hits
        .extend(accounts::caller(facts, case).map(meshladder_mesh::PodFacts::reference));
    let path = rule.path_of(node);
    finding.fix(Fix::patch(&rule.id, [Op::remove(path)]));
}

/// Give or take half a second, in which the client did something.
fn lasted(line: &AccessLine, ms: u64) -> bool {
    ms > 0
        && line
            .duration
            .is_some_and(|lasted| lasted >= ms && lasted <= ms + 500)
}
