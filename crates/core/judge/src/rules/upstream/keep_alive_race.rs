//! See the page beside this file.

use super::application_closes_connection::closed;
use crate::finding::{Confidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML1008",
    name: "keep-alive-race",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Warning,
    claim: "the proxy closes idle connections before the application does",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("keep_alive_race.md"),
    check: Check::Request(check),
};

/// An application that closes idle connections does so without work: in a few milliseconds.
const QUICK_MS: u64 = 50;

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(told) = closed(facts, case).filter(|_| is_rare(case)) else {
        return;
    };
    let Some(pod) = told.pod else { return };
    let message = format!(
        "the application of {} closes idle connections that its proxy still uses: now and then a request meets a closed one",
        pod.workload()
    );
    let finding = out.find(pod.workload(), message, told.proof);
    finding.hits(pod.reference()).confidence(Confidence::Likely);
    finding.fix(Fix::advice(
        "let the application keep idle connections longer than its proxy does (an hour by default)",
    ));
    if let Some(service) = case.service {
        let id = ObjectRef::of(
            Kind::DestinationRule,
            &service.namespace,
            &format!("{}-idle", service.name),
        );
        let yaml = format!(
            "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  host: {}\n  trafficPolicy:\n    connectionPool:\n      http:\n        idleTimeout: 3s",
            id.name, id.namespace, service.name
        );
        finding.fix(
            Fix::create(&id, yaml)
                .unchecked("how long the application keeps connections is not in any object"),
        );
    }
}

/// Whether the same call mostly succeeds, and fails at once when it fails.
pub(super) fn is_rare(case: &Case<'_>) -> bool {
    let fails: Vec<_> = case
        .server_log
        .iter()
        .filter(|line| line.has("UC"))
        .collect();
    let succeeds = case
        .server_log
        .iter()
        .filter(|line| (200..400).contains(&line.code))
        .count();
    let quick = fails
        .iter()
        .all(|line| line.duration.is_some_and(|duration| duration <= QUICK_MS));
    quick && succeeds >= 4 && fails.len() * 4 <= succeeds
}
