//! `envoy.filters.http.cors`: answers preflights.

use super::{FilterBranch, FilterVerdict, PerRoute};
use crate::answer::Answer;
use crate::jwt::is_cors_preflight;
use crate::matcher::StringMatcher;
use crate::message;
use crate::runtime::{Fraction, Runtime};
use crate::{RequestState, Tri};
use meshladder_text::json::Raw;

/// A compiled `CorsPolicy`.
#[derive(Debug)]
pub struct CorsPolicy {
    origins: Vec<StringMatcher>,
    enabled: Fraction,
    forward_not_matching_preflights: Option<bool>,
}

impl CorsPolicy {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let origins = raw.list("allow_origin_string_match");
        Self {
            origins: origins.map(StringMatcher::compile).collect(),
            // "If neither enabled, filter_enabled, nor shadow_enabled are specified, the CORS
            // filter will be enabled for 100% of the requests."
            enabled: match raw.get("filter_enabled") {
                Some(enabled) => runtime.fractional_percent(enabled),
                None => Fraction::WHOLE,
            },
            forward_not_matching_preflights: message::optional_flag(
                raw,
                "forward_not_matching_preflights",
            ),
        }
    }
}

/// What the filter does, given what is said of it from the most specific to the least. "If no cors
/// policy is configured in the per filter config", the fields of route and virtual host count.
pub(super) fn evaluate(
    entries: &[PerRoute],
    fields: &[CorsPolicy],
    state: &RequestState<'_>,
    has_cluster: bool,
) -> FilterVerdict {
    let policies = policies(entries, fields);
    let Some(first) = policies.first() else {
        return FilterVerdict::Passed("the route has no CORS policy".into());
    };
    // Redirects and answers of the route itself have no policy.
    if !has_cluster {
        return FilterVerdict::Passed("the route has no CORS policy".into());
    }
    if !is_cors_preflight(&state.request) {
        return FilterVerdict::Passed("it is no CORS preflight".into());
    }

    let origin = state.request.values("origin").next().unwrap_or_default();
    if forwards_not_matching(&policies) {
        match allows(&policies, origin) {
            Tri::Yes => {}
            Tri::No => {
                let why = format!("the origin {origin} is not allowed");
                return FilterVerdict::Passed(why.into());
            }
            Tri::Unknown(fact) => return FilterVerdict::Undecided(fact),
        }
    }

    // A preflight is answered in HTTP's way even when it asks for gRPC.
    let answer = Answer {
        grpc_status: None,
        code: 200,
        ..Answer::new(&state.request, 200, &[], "cors_response")
    };
    split(first.enabled, answer)
}

/// The policies that count, the most specific first.
fn policies<'p>(entries: &'p [PerRoute], fields: &'p [CorsPolicy]) -> Vec<&'p CorsPolicy> {
    let mut typed = Vec::new();
    for entry in entries {
        if let PerRoute::Cors(policy) = entry {
            typed.push(policy);
        }
    }
    if typed.is_empty() {
        return fields.iter().collect();
    }
    typed
}

/// Whether the first policy that lists origins lists this one.
fn allows(policies: &[&CorsPolicy], origin: &str) -> Tri {
    for policy in policies {
        // A policy that lists no origins leaves them to the one around it.
        if policy.origins.is_empty() {
            continue;
        }
        let matches =
            |matcher: &StringMatcher| Tri::any([matcher.matches("*"), matcher.matches(origin)]);
        return Tri::any(policy.origins.iter().map(matches));
    }
    Tri::No
}

/// Whether preflights of other origins go on to the service. The first policy that says so counts.
fn forwards_not_matching(policies: &[&CorsPolicy]) -> bool {
    for policy in policies {
        if let Some(forwards) = policy.forward_not_matching_preflights {
            return forwards;
        }
    }
    true
}

/// The answer, as often as the fraction says.
pub(super) fn split(fraction: Fraction, answer: Answer) -> FilterVerdict {
    if fraction.numerator == 0 {
        return FilterVerdict::Passed("it is disabled".into());
    }
    if fraction.is_whole() {
        return FilterVerdict::Answered(answer, None);
    }
    #[expect(clippy::cast_precision_loss, reason = "both are at most a million")]
    let weight = fraction.numerator as f64 / fraction.denominator as f64;
    FilterVerdict::Branches(vec![
        FilterBranch::answered(Some(weight), answer),
        FilterBranch::on(Some(1.0 - weight), &[]),
    ])
}
