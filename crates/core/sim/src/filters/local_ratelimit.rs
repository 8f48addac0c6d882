//! `envoy.filters.http.local_ratelimit`: a bucket of tokens in the proxy itself.

use super::{FilterBranch, FilterVerdict, PerRoute};
use crate::Request;
use crate::answer::{Answer, is_grpc};
use crate::message;
use crate::runtime::{Fraction, Runtime};
use meshladder_text::json::Raw;

/// A compiled `LocalRateLimit`.
#[derive(Debug)]
pub struct LocalRateLimit {
    /// None without a bucket: then nothing is limited.
    max_tokens: Option<u64>,
    /// None when the fields are absent, which means never.
    enabled: Option<Fraction>,
    enforced: Option<Fraction>,
    status: u16,
    is_resource_exhausted: bool,
    has_descriptors: bool,
}

/// The codes that Envoy has a name for.
const STATUS_CODES: [(&str, u16); 25] = [
    ("Continue", 100),
    ("OK", 200),
    ("Created", 201),
    ("Accepted", 202),
    ("NoContent", 204),
    ("MovedPermanently", 301),
    ("Found", 302),
    ("SeeOther", 303),
    ("NotModified", 304),
    ("TemporaryRedirect", 307),
    ("PermanentRedirect", 308),
    ("BadRequest", 400),
    ("Unauthorized", 401),
    ("PaymentRequired", 402),
    ("Forbidden", 403),
    ("NotFound", 404),
    ("MethodNotAllowed", 405),
    ("NotAcceptable", 406),
    ("Conflict", 409),
    ("TooManyRequests", 429),
    ("InternalServerError", 500),
    ("NotImplemented", 501),
    ("BadGateway", 502),
    ("ServiceUnavailable", 503),
    ("GatewayTimeout", 504),
];

impl LocalRateLimit {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let fraction = |key| raw.get(key).map(|raw| runtime.fractional_percent(raw));
        let bucket = raw.get("token_bucket");
        Self {
            max_tokens: bucket.map(|bucket| message::number(bucket, "max_tokens")),
            enabled: fraction("filter_enabled"),
            enforced: fraction("filter_enforced"),
            status: status(raw),
            is_resource_exhausted: message::flag(raw, "rate_limited_as_resource_exhausted"),
            has_descriptors: raw.list("descriptors").next().is_some(),
        }
    }

    /// What the filter does. How many tokens are left is not known, unless there never are any.
    pub(super) fn evaluate(&self, request: &Request) -> FilterVerdict {
        let (Some(max_tokens), Some(enabled), Some(enforced)) =
            (self.max_tokens, self.enabled, self.enforced)
        else {
            return FilterVerdict::Passed("nothing is limited".into());
        };
        // "If set, this will enable -- but not necessarily enforce -- the rate limit for the given
        // fraction of requests."
        if enabled.numerator == 0 || enforced.numerator == 0 {
            return FilterVerdict::Passed("nothing is limited".into());
        }

        let answer = self.answer(request);
        let is_always = enabled.is_whole() && enforced.is_whole();
        // A bucket without tokens refuses all; descriptors have buckets of their own.
        if max_tokens == 0 && !self.has_descriptors && is_always {
            return FilterVerdict::Answered(answer, None);
        }
        FilterVerdict::Branches(vec![
            FilterBranch::answered(None, answer),
            FilterBranch::on(None, &[]),
        ])
    }

    fn answer(&self, request: &Request) -> Answer {
        let mut answer = Answer::new(request, self.status, &["RL"], "local_rate_limited");
        // "rate_limited_as_resource_exhausted: Specifies if a RESOURCE_EXHAUSTED gRPC code must be
        // returned instead of the default UNAVAILABLE gRPC code for a rate limited gRPC call."
        if self.is_resource_exhausted && is_grpc(request) {
            answer.grpc_status = Some(8);
        }
        answer.with_body("local_rate_limited")
    }
}

/// `type.v3.StatusCode`, which proto3 JSON writes by name or number: `TooManyRequests` or 429.
pub(super) fn status_code(raw: Raw<'_>) -> Option<u16> {
    if let Some(number) = raw.number() {
        return u16::try_from(number).ok();
    }
    let text = raw.string()?;
    for (name, code) in STATUS_CODES {
        if *name == text {
            return Some(code);
        }
    }
    None
}

/// "Defaults to 429 (TooManyRequests) … If this is set to < 400, 429 will be used instead."
fn status(limit: Raw<'_>) -> u16 {
    match limit.at(["status", "code"]).and_then(status_code) {
        Some(code) if code >= 400 => code,
        _ => 429,
    }
}

/// The limit that a route has in the place of the filter's.
pub(super) fn of_route(own: Option<&PerRoute>) -> Option<&LocalRateLimit> {
    match own {
        Some(PerRoute::LocalRateLimit(limit)) => Some(limit),
        _ => None,
    }
}
