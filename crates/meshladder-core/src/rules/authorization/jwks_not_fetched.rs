//! See the page beside this file.

use super::token_refused;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Asked, Check, Facts, Rule, Sink};
use crate::snapshot::{DocId, ProxyRef};

pub(super) static RULE: Rule = Rule {
    code: "ML0911",
    name: "jwks-not-fetched",
    aka: &["IST0175"],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "istiod could fetch the keys that tokens are checked with",
    needs: &["proxies/"],
    uses: &["k8s/requestauthentications.security.istio.io.json", "k8s/pods.json", "logs/"],
    explains: &["ML0915"],
    docs: include_str!("jwks_not_fetched.md"),
    check: Check::Request(check),
};

/// base64url of `Error-IstiodFailedToFetchJwksUri`, as far as it does not depend on what follows: the modulus of the key
/// that istiod puts in the place of keys it could not fetch.
const FAILED: &str = "RXJyb3ItSXN0aW9kRmFpbGVkVG9GZXRjaEp3a3NVcmkt";

fn check(facts: &Facts<'_>, asked: &Asked<'_>, out: &mut Sink) {
    out.examined();
    let refused = token_refused::refusals(facts, asked).into_iter().find(|(reason, _)| is_about_keys(reason));
    let (Some((_, told)), Some(at)) = (refused, placeholder(facts, asked)) else { return };
    let remote =
        |policy: &&&crate::mesh::Stored| policy.spec_list("jwtRules").iter().any(|rule| rule.get("jwks").is_none());
    let policies = token_refused::authentications(facts, asked);
    let Some(policy) = policies.iter().find(remote) else { return };
    let uri = policy.spec_list("jwtRules").iter().find_map(|rule| rule.str_at("jwksUri").or(rule.str_at("issuer")));
    let message = format!(
        "istiod could not fetch the keys that {} names ({}), so no token is accepted",
        policy.id,
        uri.unwrap_or_default()
    );
    let rules = policy.spec_at(["jwtRules"]).unwrap_or(&policy.node);
    let finding = out.find(policy.id.clone(), message, Evidence::of(policy, rules, "where the keys should come from"));
    finding.see(at).see(told.proof).confidence(Confidence::Likely);
    finding.fix(Fix::advice(
        "make the address reachable for istiod (DNS, certificate, egress), or put the keys into `jwks`",
    ));
}

/// Whether Envoy found no key for the token.
pub(super) fn is_about_keys(reason: &str) -> bool {
    reason.starts_with("Jwks doesn't have") || reason.starts_with("Jwks doesn")
}

/// The key that istiod put in the place of those it could not fetch, in a server's dump.
pub(super) fn placeholder(facts: &Facts<'_>, asked: &Asked<'_>) -> Option<Evidence> {
    asked.servers.iter().find_map(|pod| {
        let proxy = ProxyRef { source: String::new(), namespace: pod.namespace.clone(), pod: pod.name.clone() };
        let document = facts.snapshot.open(&DocId::of_proxy(&proxy, "config_dump.json")).ok()?;
        let at = document.text.find(FAILED)?;
        Some(Evidence::offset(&document.id, at, "the key that stands in for those that could not be fetched"))
    })
}
