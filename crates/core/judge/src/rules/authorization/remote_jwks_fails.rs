//! See the page beside this file.

use super::token_refused;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML0914",
    name: "remote-jwks-fails",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "the proxy can fetch the keys that tokens are checked with",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::RequestAuthentication, Kind::Pod]).and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0915"],
    docs: include_str!("remote_jwks_fails.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let refused = token_refused::refusals(facts, case).into_iter();
    let Some((_, told)) = refused
        .into_iter()
        .find(|(reason, _)| reason.starts_with("Jwks remote fetch"))
    else {
        return;
    };
    let policies = token_refused::authentications(facts, case);
    let Some(policy) = policies.first() else {
        return out.unknown("the RequestAuthentications of the server");
    };
    let uris: Vec<&str> = policy
        .spec_list("jwtRules")
        .iter()
        .filter_map(|rule| rule.str_at("jwksUri"))
        .collect();
    let message = format!(
        "the proxy cannot fetch the keys that {} names ({}), so no token is accepted",
        policy.id,
        uris.join(", ")
    );
    let rules = policy.spec_at(["jwtRules"]).unwrap_or(&policy.node);
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, rules, "where the keys should come from"),
    );
    finding.see(told.proof);
    for pod in &case.servers {
        finding.hits(ObjectRef::of(Kind::Pod, &pod.namespace, &pod.name));
    }
    finding.fix(Fix::advice(
        "give the issuer's host a ServiceEntry that the workload imports, or let istiod fetch the keys",
    ));
}
