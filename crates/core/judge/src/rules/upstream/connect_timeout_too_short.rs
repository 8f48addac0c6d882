//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::duration::milliseconds;

pub(super) static RULE: Rule = Rule {
    code: "ML1019",
    name: "connect-timeout-too-short",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "a DestinationRule gives connections the time that they need",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("connect_timeout_too_short.md"),
    check: Check::Request(check),
};

/// A lost packet is sent again after a second: who waits less gives up at the first one. Whoever
/// waits longer in vain meets a server that does not answer at all.
const SHORT_MS: u64 = 1000;

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.details.contains("connection_timeout"));
    let Some(told) = told else { return };
    let Some((rule, pool)) = accounts::client_setting(facts, case, "connectionPool") else {
        return;
    };
    let Some(node) = pool.at(["tcp", "connectTimeout"]) else {
        return;
    };
    let text = node.str().unwrap_or_default();
    if milliseconds(text).is_none_or(|ms| ms >= SHORT_MS) {
        return;
    }
    let message = format!(
        "{} lets connections to {} take {text} only, and that was not enough",
        rule.id, case.host
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, node, "the time that a connection may take"),
    );
    finding.see(told.proof).confidence(Confidence::Likely);
    finding
        .hits
        .extend(accounts::caller(facts, case).map(meshladder_mesh::PodFacts::reference));
    let path = rule.path_of(node);
    finding.fix(Fix::patch(&rule.id, [Op::replace(path, "10s")]));
}
