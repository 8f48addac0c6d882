//! `envoy.filters.http.cors`: answers preflights.

use super::{FilterBranch, FilterVerdict, PerRoute};
use crate::answer::Answer;
use crate::jwt::is_cors_preflight;
use crate::matcher::StringMatcher;
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
        // "If neither enabled, filter_enabled, nor shadow_enabled are specified, the CORS filter
        // will be enabled for 100% of the requests."
        let whole = Fraction {
            numerator: 100,
            denominator: 100,
        };
        let enabled = raw
            .get("filter_enabled")
            .map(|enabled| runtime_fraction(enabled, runtime));
        Self {
            origins: raw
                .list("allow_origin_string_match")
                .map(StringMatcher::compile)
                .collect(),
            enabled: enabled.unwrap_or(whole),
            forward_not_matching_preflights: raw
                .get("forward_not_matching_preflights")
                .and_then(Raw::bool),
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
    let typed = entries.iter().filter_map(|entry| {
        if let PerRoute::Cors(policy) = entry {
            Some(policy)
        } else {
            None
        }
    });
    let typed: Vec<_> = typed.collect();
    let policies: Vec<_> = if typed.is_empty() {
        fields.iter().collect()
    } else {
        typed
    };
    let Some(first) = policies.first().filter(|_| has_cluster) else {
        return FilterVerdict::Passed("the route has no CORS policy".into());
    };
    if !is_cors_preflight(&state.request) {
        return FilterVerdict::Passed("it is no CORS preflight".into());
    }
    let origin = state.request.values("origin").next().unwrap_or_default();
    let origins = policies
        .iter()
        .map(|policy| &policy.origins)
        .find(|origins| !origins.is_empty());
    let allows =
        |matcher: &StringMatcher| Tri::any([matcher.matches("*"), matcher.matches(origin)]);
    let forwards = policies
        .iter()
        .find_map(|policy| policy.forward_not_matching_preflights)
        .unwrap_or(true);
    match Tri::any(origins.into_iter().flatten().map(allows)) {
        Tri::Unknown(fact) if forwards => return FilterVerdict::Undecided(fact),
        Tri::No if forwards => {
            return FilterVerdict::Passed(format!("the origin {origin} is not allowed").into());
        }
        _ => {}
    }
    let answer = Answer {
        grpc_status: None,
        code: 200,
        ..Answer::new(&state.request, 200, &[], "cors_response")
    };
    split(first.enabled, answer)
}

/// The answer, as often as the fraction says.
pub(super) fn split(fraction: Fraction, answer: Answer) -> FilterVerdict {
    match fraction.numerator {
        0 => FilterVerdict::Passed("it is disabled".into()),
        n if n >= fraction.denominator => FilterVerdict::Answered(answer, None),
        n => {
            #[expect(clippy::cast_precision_loss, reason = "both are at most a million")]
            let weight = n as f64 / fraction.denominator as f64;
            FilterVerdict::Branches(vec![
                FilterBranch::answered(Some(weight), answer),
                FilterBranch::on(Some(1.0 - weight), &[]),
            ])
        }
    }
}

/// `RuntimeFractionalPercent`
pub(super) fn runtime_fraction(raw: Raw<'_>, runtime: &Runtime<'_>) -> Fraction {
    let none = Fraction {
        numerator: 0,
        denominator: 100,
    };
    let default = raw.get("default_value").map_or(none, Fraction::compile);
    runtime.fraction(&raw.string_at("runtime_key").unwrap_or_default(), default)
}
