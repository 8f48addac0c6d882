//! `envoy.filters.http.local_ratelimit`: a bucket of tokens in the proxy itself.

use super::cors::runtime_fraction;
use super::{FilterBranch, FilterVerdict};
use crate::Request;
use crate::answer::{Answer, is_grpc};
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

impl LocalRateLimit {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let fraction = |key| {
            raw.get(key)
                .map(|fraction| runtime_fraction(fraction, runtime))
        };
        let status = raw.at(["status", "code"]).and_then(status_code);
        Self {
            max_tokens: raw
                .get("token_bucket")
                .map(|bucket| bucket.get("max_tokens").and_then(Raw::number).unwrap_or(0)),
            enabled: fraction("filter_enabled"),
            enforced: fraction("filter_enforced"),
            // "If this is not specified, the default is 429 … a code below 400 is ignored"
            status: status.filter(|code| *code >= 400).unwrap_or(429),
            is_resource_exhausted: raw
                .get("rate_limited_as_resource_exhausted")
                .and_then(Raw::bool)
                == Some(true),
            has_descriptors: raw.list("descriptors").next().is_some(),
        }
    }

    /// What the filter does. How many tokens are left is not known, unless there never are any.
    pub(super) fn evaluate(&self, request: &Request) -> FilterVerdict {
        let is_on =
            |fraction: Option<Fraction>| fraction.is_some_and(|fraction| fraction.numerator > 0);
        let Some(max_tokens) = self
            .max_tokens
            .filter(|_| is_on(self.enabled) && is_on(self.enforced))
        else {
            return FilterVerdict::Passed("nothing is limited".into());
        };
        let mut answer = Answer::new(request, self.status, &["RL"], "local_rate_limited");
        if self.is_resource_exhausted && is_grpc(request) {
            answer.grpc_status = Some(8);
        }
        let answer = answer.with_body("local_rate_limited");
        let is_always =
            |fraction: Option<Fraction>| fraction.is_some_and(|f| f.numerator >= f.denominator);
        if max_tokens == 0
            && !self.has_descriptors
            && is_always(self.enabled)
            && is_always(self.enforced)
        {
            return FilterVerdict::Answered(answer, None);
        }
        FilterVerdict::Branches(vec![
            FilterBranch::answered(None, answer),
            FilterBranch::on(None, &[]),
        ])
    }
}

/// `type.v3.StatusCode`, which proto3 JSON writes by name or number: `TooManyRequests` or 429.
pub(super) fn status_code(raw: Raw<'_>) -> Option<u16> {
    const NAMES: [(&str, u16); 25] = [
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
    let by_number = || u16::try_from(raw.number()?).ok();
    let by_name = || {
        NAMES
            .iter()
            .find(|(name, _)| raw.string().as_deref() == Some(*name))
            .map(|(_, code)| *code)
    };
    by_number().or_else(by_name)
}
