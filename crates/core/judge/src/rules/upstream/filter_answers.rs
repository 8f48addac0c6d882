//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML1018",
    name: "filter-answers",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "no filter that an EnvoyFilter adds answers in the application's place",
    needs: Inputs::of(&[Kind::Pod, Kind::EnvoyFilter]),
    uses: Inputs::NONE.and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("filter_answers.md"),
    check: Check::Request(check),
};

/// The details that Envoy's filters give to answers of their own, and the type of the filter. Those
/// for which there is a rule of their own are not here.
const TYPES: [(&str, &str); 15] = [
    ("lua_response", "envoy.extensions.filters.http.lua."),
    (
        "csrf_origin_mismatch",
        "envoy.extensions.filters.http.csrf.",
    ),
    (
        "denied_by_admission_control",
        "envoy.extensions.filters.http.admission_control.",
    ),
    (
        "reached_concurrency_limit",
        "envoy.extensions.filters.http.adaptive_concurrency.",
    ),
    (
        "request_payload_exceeded_limit",
        "envoy.extensions.filters.http.buffer.",
    ),
    (
        "request_payload_too_large",
        "envoy.extensions.filters.http.buffer.",
    ),
    (
        "grpc_transcode_failed",
        "envoy.extensions.filters.http.grpc_json_transcoder.",
    ),
    (
        "grpc_json_transcode_failure",
        "envoy.extensions.filters.http.grpc_json_transcoder.",
    ),
    (
        "rate_limiter_error",
        "envoy.extensions.filters.http.ratelimit.",
    ),
    (
        "rate_limited_by_quota",
        "envoy.extensions.filters.http.rate_limit_quota.",
    ),
    (
        "no_credential_for_basic_auth",
        "envoy.extensions.filters.http.basic_auth.",
    ),
    (
        "invalid_credential_for_basic_auth",
        "envoy.extensions.filters.http.basic_auth.",
    ),
    (
        "missing_api_key",
        "envoy.extensions.filters.http.api_key_auth.",
    ),
    ("ext_proc_", "envoy.extensions.filters.http.ext_proc."),
    ("wasm_fail_stream", "envoy.extensions.filters.http.wasm."),
];

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    for told in accounts::of(facts, case) {
        let type_part = TYPES
            .iter()
            .find(|(details, _)| told.details.starts_with(details))
            .map(|(_, of)| *of);
        let (Some(type_part), Some(pod)) = (type_part, told.pod) else {
            continue;
        };
        let Some((filter, value)) = accounts::envoy_filters(facts, pod, type_part)
            .into_iter()
            .next()
        else {
            continue;
        };
        let message = format!(
            "{} puts a filter into the proxy of {} that answers {} with {} itself ({})",
            filter.id,
            pod.workload(),
            accounts::call(case),
            told.code,
            told.details
        );
        let finding = out.find(
            filter.id.clone(),
            message,
            Evidence::of(filter, value, "the filter"),
        );
        finding.see(told.proof).hits(pod.reference());
        finding.fixes.extend(accounts::without_patch(filter, value));
        finding.fix(Fix::advice(
            "or change what the filter does with such a request",
        ));
        return;
    }
}
