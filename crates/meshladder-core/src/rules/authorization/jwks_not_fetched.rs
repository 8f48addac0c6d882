//! See the page beside this file.

use super::token_refused;
use crate::doc::json::{Kind, Raw};
use crate::envoy::dump::{Dump, Section};
use crate::finding::{Confidence, Evidence, Finding, Fix, Rung, Severity};
use crate::mesh::Stored;
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
    check: Check::Either(check),
};

/// base64url of `Error-IstiodFailedToFetchJwksUri`, as far as it does not depend on what follows: the modulus of the key
/// that istiod puts in the place of keys it could not fetch.
const FAILED: &str = "RXJyb3ItSXN0aW9kRmFpbGVkVG9GZXRjaEp3a3NVcmkt";

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    out.examined();
    let Some(asked) = asked else { return of_logs(facts, out) };
    let refused = token_refused::refusals(facts, asked);
    let policies = token_refused::authentications(facts, asked);
    let Some(policy) = policies.iter().find(|policy| remote(policy).is_some()) else { return };
    let told = |reason: &str| is_about_keys(reason) || reason.starts_with("Jwt verification fails");
    let at = failed_fetch(facts, policy).or_else(|| placeholder(facts, asked));
    let at = at.zip(refused.into_iter().find(|(reason, _)| told(reason)).map(|(_, told)| told));
    let Some((at, told)) = at else { return };
    tell(policy, at, out).see(told.proof);
}

/// Nobody asked: what istiod's log says of the addresses that RequestAuthentications name.
fn of_logs(facts: &Facts<'_>, out: &mut Sink) {
    for policy in facts.mesh.objects.of_kind("RequestAuthentication") {
        if let Some(line) = failed_fetch(facts, policy) {
            tell(policy, line, out).severity(Severity::Warning);
        }
    }
}

fn tell<'o>(policy: &Stored, at: Evidence, out: &'o mut Sink) -> &'o mut Finding {
    let message = format!(
        "istiod could not fetch the keys that {} names ({}), so no token is accepted",
        policy.id,
        remote(policy).unwrap_or_default()
    );
    let rules = policy.spec_at(["jwtRules"]).unwrap_or(&policy.node);
    let finding = out.find(policy.id.clone(), message, Evidence::of(policy, rules, "where the keys should come from"));
    finding.see(at).confidence(Confidence::Likely);
    finding.fix(Fix::advice(
        "make the address reachable for istiod (DNS, certificate, egress), or put the keys into `jwks`",
    ));
    finding
}

/// The address from which istiod fetches keys, when they are not in the object itself.
fn remote(policy: &Stored) -> Option<&str> {
    let rules = policy.spec_list("jwtRules").iter().filter(|rule| rule.get("jwks").is_none());
    rules.into_iter().find_map(|rule| rule.str_at("jwksUri").or(rule.str_at("issuer")))
}

/// The last line of an istiod's log about that address, when it says that the keys were not had.
fn failed_fetch(facts: &Facts<'_>, policy: &Stored) -> Option<Evidence> {
    let address = remote(policy)?;
    let is_istiods = |id: &&DocId| id.split().1.starts_with("logs/") && id.as_str().ends_with("/discovery.log");
    facts.snapshot.ids().filter(is_istiods).find_map(|id| {
        let log = facts.snapshot.open(id).ok()?;
        let (number, line) = log.text.lines().enumerate().filter(|(_, line)| line.contains(address)).last()?;
        let text = line.to_ascii_lowercase();
        let failed = ["fail", "not yet fetched", "error", "no such host", "refused", "timeout"];
        let says_so = text.contains("jwks") || text.contains("get from");
        (says_so && failed.iter().any(|word| text.contains(word)))
            .then(|| Evidence::line(id, number + 1, "istiod did not get the keys"))
    })
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
        let nameless = || {
            let dump = Dump::index(&document.text, &[Section::Listeners]).ok()?;
            dump.of(Section::Listeners).filter_map(|listener| listener.raw).find_map(nameless_key)
        };
        let at = document.text.find(FAILED).or_else(nameless)?;
        Some(Evidence::offset(&document.id, at, "the key that stands in for those that could not be fetched"))
    })
}

/// A newer istiod puts one fixed key there, which has no `kid`. Issuers name their keys, to be able to change them.
fn nameless_key(raw: Raw<'_>) -> Option<usize> {
    match raw.kind() {
        Kind::Array => raw.elements().find_map(nameless_key),
        Kind::Object => {
            let keys = raw.at(["local_jwks", "inline_string"]);
            let is_nameless = |text: &str| {
                let mut keys = Raw::of(text).ok().into_iter().flat_map(|jwks| jwks.list("keys"));
                let first = keys.next();
                first.is_some_and(|key| key.get("kid").is_none()) && keys.next().is_none()
            };
            let own = keys.filter(|keys| keys.string().is_some_and(|text| is_nameless(&text)));
            own.map(Raw::offset).or_else(|| raw.members().find_map(|(_, value)| nameless_key(value)))
        }
        _ => None,
    }
}
