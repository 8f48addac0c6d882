//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};

pub(super) static RULE: Rule = Rule {
    code: "ML1009",
    name: "rate-limit",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "no proxy on the way limits how many requests pass",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[Kind::EnvoyFilter]).and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("local_rate_limit.md"),
    check: Check::Request(check),
};

/// The limit of one proxy, and the one that a service keeps for all.
const TYPES: [(&str, &str); 2] = [
    (
        "local_rate_limited",
        "envoy.extensions.filters.http.local_ratelimit.",
    ),
    (
        "request_rate_limited",
        "envoy.extensions.filters.http.ratelimit.",
    ),
];

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(told) = accounts::of(facts, case)
        .into_iter()
        .find(|told| type_of(told.details).is_some())
    else {
        return;
    };
    let Some(type_part) = type_of(told.details) else {
        return;
    };
    // That a limit may be hit says nothing of a request about which nothing was seen.
    if told.line.is_none() && case.seen.is_none() {
        return;
    }
    let Some(pod) = told.pod else { return };
    let Some((filter, value)) = accounts::envoy_filters(facts, pod, type_part)
        .into_iter()
        .next()
    else {
        return;
    };
    let bucket = accounts::find_type(value, type_part).and_then(|config| {
        config
            .get("token_bucket")
            .or_else(|| config.at(["value", "token_bucket"]))
    });
    let message = format!(
        "{} limits requests in the proxy of {}, which answers {} by itself when too many come",
        filter.id,
        pod.workload(),
        told.code
    );
    let proof = Evidence::of(filter, bucket.unwrap_or(value), "the limit");
    let finding = out.find(filter.id.clone(), message, proof);
    finding.see(told.proof).hits(pod.reference());
    finding.fixes.extend(accounts::without_patch(filter, value));
    finding.fix(Fix::advice(
        "or raise max_tokens and tokens_per_fill, or narrow its workloadSelector",
    ));
}

/// The filter behind the details of an answer.
fn type_of(details: &str) -> Option<&'static str> {
    TYPES
        .iter()
        .find(|(known, _)| *known == details)
        .map(|(_, type_part)| *type_part)
}
