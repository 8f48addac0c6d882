//! See the page beside this file.

use super::unmatched::{self, Why};
use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0913",
    name: "no-token",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "a request to a workload that wants a token has one",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::RequestAuthentication,
        Kind::ServiceAccount,
        Kind::Service,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0902"],
    docs: include_str!("no_token.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(found) =
        unmatched::find(facts, case).filter(|found| matches!(found.why, Why::NoToken))
    else {
        return;
    };
    let policy = found.policies[0];
    let message = format!(
        "{} has no token, and {} admits only callers with one",
        accounts::call(case),
        policy.id
    );
    let rules = policy.spec_at(["rules"]).unwrap_or(&policy.node);
    let proof = Evidence::of(policy, rules, "every rule wants a token");
    let finding = out.find(Subject::Request, message, proof);
    finding.see(found.denial.proof);
    finding.fix(Fix::advice(
        "send a token of an issuer that the workload's RequestAuthentication accepts",
    ));
}
