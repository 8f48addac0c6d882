//! See the page beside this file.

use super::denial;
use super::ext_authz_unreachable::TYPE;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0916",
    name: "ext-authz-denies",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "the external authorization service lets the request through",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::AuthorizationPolicy, Kind::EnvoyFilter]).and(&[Part::Proxies]),
    explains: &[],
    docs: include_str!("ext_authz_denies.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(told) = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.details == "ext_authz_denied")
    else {
        return;
    };
    let Some(pod) = told.pod else { return };
    let policy = denial::policies(facts, Some(case), pod, "CUSTOM")
        .into_iter()
        .next()
        .map(|policy| (policy, &policy.node));
    let Some((object, node)) =
        policy.or_else(|| accounts::envoy_filters(facts, pod, TYPE).into_iter().next())
    else {
        return;
    };
    let message = format!(
        "the authorization service that {} asks denies {} with {}",
        object.id,
        accounts::call(case),
        told.code
    );
    let finding = out.find(
        object.id.clone(),
        message,
        Evidence::of(object, node, "who asks it"),
    );
    finding.see(told.proof).hits(pod.reference());
    finding.fix(Fix::advice(
        "look into the log of the authorization service: no proxy knows why it denies",
    ));
}
