//! See the page beside this file.

use super::{dumped, token_refused};
use crate::finding::{Confidence, Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, istiod_log};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{DocId, Document, Inputs, Part};
use meshladder_mesh::Object;
use meshladder_text::json;
use meshladder_text::json::Raw;

pub(super) static RULE: Rule = Rule {
    code: "ML0911",
    name: "jwks-not-fetched",
    aka: &["IST0175"],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "istiod could fetch the keys that tokens are checked with",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::RequestAuthentication, Kind::Pod]).and(&[Part::Logs, Part::Istiod]),
    explains: &["ML0915"],
    docs: include_str!("jwks_not_fetched.md"),
    check: Check::Either(check),
};

/// The keys that istiod puts in the place of those it could not fetch: base64url of
/// `Error-IstiodFailedToFetchJwksUri`, as far as it does not depend on what follows, as a modulus;
/// and since 1.21 one that is the same everywhere.
const STAND_INS: [&str; 2] = [
    "RXJyb3ItSXN0aW9kRmFpbGVkVG9GZXRjaEp3a3NVcmkt",
    "vqS7RN4b34i3_5YyhygtBe33gI6GK_0ldW8WMZaunS28T",
];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined();
    let Some(case) = case else {
        return of_mesh(facts, out);
    };
    let refused = token_refused::refusals(facts, case);
    let policies = token_refused::authentications(facts, case);
    let Some(policy) = policies.iter().find(|policy| remote(policy).is_some()) else {
        return;
    };
    let told = |reason: &str| is_about_keys(reason) || reason.starts_with("Jwt verification fails");
    let at = failed_fetch(facts, policy).or_else(|| placeholder(facts, case));
    let at = at.zip(
        refused
            .into_iter()
            .find(|(reason, _)| told(reason))
            .map(|(_, told)| told),
    );
    let Some((at, told)) = at else { return };
    tell(policy, at, Confidence::Likely, out).see(told.proof);
}

/// Nobody asked: what the dump of a proxy shows that the RequestAuthentication reaches, and
/// istiod's log and metrics.
fn of_mesh(facts: &Facts<'_>, out: &mut Sink) {
    let is_remote = |policy: &&Object| remote(policy).is_some();
    let policies: Vec<&Object> = facts
        .mesh
        .objects
        .of_kind(Kind::RequestAuthentication)
        .iter()
        .filter(is_remote)
        .collect();
    if policies.is_empty() {
        return;
    }
    let dumps = dumped::of_each(facts, &policies);
    for policy in policies {
        let witness = failed_fetch(facts, policy).or_else(|| failed_count(facts));
        let found = dumps.get(&policy.id).map(|dump| stand_in(dump, policy));
        match (found, witness) {
            (Some(Some((at, true))), witness) => {
                let finding = tell(policy, at, Confidence::Proven, out);
                finding.evidence.extend(witness);
            }
            (Some(Some((at, false))), Some(witness)) => {
                tell(policy, at, Confidence::Likely, out)
                    .see(witness)
                    .severity(Severity::Warning);
            }
            // Its keys are there, whatever was said before.
            (Some(_), _) => {}
            (None, Some(_)) => {
                if let Some(line) = failed_fetch(facts, policy) {
                    tell(policy, line, Confidence::Likely, out).severity(Severity::Warning);
                }
            }
            (None, None) => out.unknown.extend(facts.unread(Part::Logs)),
        }
    }
}

fn tell<'o>(
    policy: &Object,
    at: Evidence,
    confidence: Confidence,
    out: &'o mut Sink,
) -> &'o mut Finding {
    let message = format!(
        "istiod could not fetch the keys that {} names ({}), so no token is accepted",
        policy.id,
        remote(policy).unwrap_or_default()
    );
    let rules = policy.spec_at(["jwtRules"]).unwrap_or(&policy.node);
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, rules, "where the keys should come from"),
    );
    finding.see(at).confidence(confidence);
    finding.fix(Fix::advice(
        "make the address reachable for istiod (DNS, certificate, egress), or put the keys into `jwks`",
    ));
    finding
}

/// The address from which istiod fetches keys, when they are not in the object itself.
fn remote(policy: &Object) -> Option<&str> {
    let rules = policy
        .spec_list("jwtRules")
        .iter()
        .filter(|rule| rule.get("jwks").is_none());
    rules
        .into_iter()
        .find_map(|rule| rule.str_at("jwksUri").or(rule.str_at("issuer")))
}

/// The last line of an istiod's log about that address, when it says that the keys were not had.
fn failed_fetch(facts: &Facts<'_>, policy: &Object) -> Option<Evidence> {
    let address = remote(policy)?;
    let failed = |line: &str| {
        const FAILED: [&str; 6] = [
            "fail",
            "not yet fetched",
            "error",
            "no such host",
            "refused",
            "timeout",
        ];
        let text = line.to_ascii_lowercase();
        let says_so = text.contains("jwks") || text.contains("get from");
        says_so && FAILED.iter().any(|word| text.contains(word))
    };
    // Of an address that was reached since, the last line does not say so.
    let last = istiod_log::last_line(
        facts,
        |line| line.contains(address),
        "istiod did not get the keys",
    )?;
    let failing = istiod_log::last_line(
        facts,
        |line| line.contains(address) && failed(line),
        "istiod did not get the keys",
    );
    failing.filter(|failing| *failing == last)
}

/// Whether Envoy found no key for the token.
pub(super) fn is_about_keys(reason: &str) -> bool {
    reason.starts_with("Jwks doesn't have") || reason.starts_with("Jwks doesn")
}

/// How often istiod did not get keys, when it never got any.
fn failed_count(facts: &Facts<'_>) -> Option<Evidence> {
    let is_metrics =
        |id: &&DocId| id.split().1.starts_with("istiod/") && id.as_str().ends_with("/metrics.txt");
    facts.snapshot.ids().filter(is_metrics).find_map(|id| {
        let metrics = facts.snapshot.open(id).ok()?;
        let count = |name: &str| {
            let mut lines = metrics.text.lines().enumerate();
            lines.find_map(|(at, line)| {
                let value: f64 = line
                    .strip_prefix(name)?
                    .strip_prefix(' ')?
                    .trim()
                    .parse()
                    .ok()?;
                (value > 0.0).then_some(at + 1)
            })
        };
        let line = count("pilot_jwks_resolver_network_fetch_fail_total")?;
        let never = count("pilot_jwks_resolver_network_fetch_success_total").is_none();
        never.then(|| Evidence::line(id, line, "istiod never got any keys"))
    })
}

/// The key that istiod put in the place of those it could not fetch, in a server's dump.
pub(super) fn placeholder(facts: &Facts<'_>, case: &Case<'_>) -> Option<Evidence> {
    let policies = token_refused::authentications(facts, case);
    let remote: Vec<&Object> = policies
        .into_iter()
        .filter(|policy| remote(policy).is_some())
        .collect();
    case.servers.iter().find_map(|pod| {
        let dump = dumped::dump_of(facts, pod)?;
        remote
            .iter()
            .find_map(|policy| stand_in(&dump, policy))
            .map(|(at, _)| at)
    })
}

/// The key that stands in for those of an issuer that a policy names, and whether it is known to be
/// istiod's. A newer istiod may put another fixed one there, which has no `kid`: issuers name their
/// keys, to be able to change them.
fn stand_in(document: &Document, policy: &Object) -> Option<(Evidence, bool)> {
    let rules = policy
        .spec_list("jwtRules")
        .iter()
        .filter(|rule| rule.get("jwks").is_none());
    let issuers: Vec<&str> = rules.filter_map(|rule| rule.str_at("issuer")).collect();
    let dump = Dump::index(&document.text, &[Section::Listeners]).ok()?;
    let mut listeners = dump
        .of(Section::Listeners)
        .filter_map(|listener| listener.raw);
    let (at, is_sure) = listeners.find_map(|listener| provider(listener, &issuers))?;
    let shows = "the key that stands in for those that could not be fetched";
    Some((Evidence::offset(&document.id, at, shows), is_sure))
}

/// The first provider of one of the issuers that has such a key.
fn provider(raw: Raw<'_>, issuers: &[&str]) -> Option<(usize, bool)> {
    match raw.kind() {
        json::ValueKind::Array => raw
            .elements()
            .find_map(|element| provider(element, issuers)),
        json::ValueKind::Object => {
            let is_theirs = raw
                .get("issuer")
                .and_then(Raw::string)
                .is_some_and(|own| issuers.contains(&&*own));
            let keys = raw
                .at(["local_jwks", "inline_string"])
                .filter(|_| is_theirs);
            let own = keys.and_then(|keys| {
                let text = keys.string()?;
                let is_sure = STAND_INS.iter().any(|known| text.contains(known));
                (is_sure || is_nameless(&text)).then_some((keys.offset(), is_sure))
            });
            own.or_else(|| {
                raw.members()
                    .find_map(|(_, value)| provider(value, issuers))
            })
        }
        _ => None,
    }
}

/// Whether there is one key, and it has no name.
fn is_nameless(text: &str) -> bool {
    let mut keys = Raw::of(text)
        .ok()
        .into_iter()
        .flat_map(|jwks| jwks.list("keys"));
    let first = keys.next();
    first.is_some_and(|key| key.get("kid").is_none()) && keys.next().is_none()
}
