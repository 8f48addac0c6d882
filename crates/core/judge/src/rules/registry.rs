//! The rule book: every family, and how a rule is found by its code or its name.

use super::{Rule, retired};
use super::{
    annotation, authorization, cluster, condition, config, control_plane, custom_resource,
    deployment, destination_rule, endpoints, enrolment, envoy_filter, gateway, gateway_api,
    identity, injection, policy, reach, routing, schema, service, service_entry, sidecar, sync,
    telemetry, telemetry_api, upstream, virtual_service, webhook, workload, workload_group,
};
use crate::finding::Finding;

/// Every family, in the order of their codes.
pub static FAMILIES: &[&[&Rule]] = &[
    reach::RULES,
    control_plane::RULES,
    enrolment::RULES,
    sync::RULES,
    config::RULES,
    routing::RULES,
    endpoints::RULES,
    identity::RULES,
    authorization::RULES,
    upstream::RULES,
    telemetry::RULES,
    virtual_service::RULES,
    destination_rule::RULES,
    gateway::RULES,
    service::RULES,
    service_entry::RULES,
    sidecar::RULES,
    policy::RULES,
    envoy_filter::RULES,
    injection::RULES,
    schema::RULES,
    gateway_api::RULES,
    telemetry_api::RULES,
    webhook::RULES,
    annotation::RULES,
    deployment::RULES,
    cluster::RULES,
    custom_resource::RULES,
    condition::RULES,
    workload::RULES,
    workload_group::RULES,
];

/// All rules, by code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The rule of that code or name, in any case; for a code that is retired, the rule that took its
/// claim over; for another tool's code, the first rule that has it.
pub fn named(text: &str) -> Option<&'static Rule> {
    let is_own =
        |rule: &&Rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text);
    let has_taken_over = |rule: &&Rule| retired::of(rule).any(|old| old.is(text));
    let has_foreign = |rule: &&Rule| rule.aka.iter().any(|aka| aka.eq_ignore_ascii_case(text));
    all()
        .find(is_own)
        .or_else(|| all().find(has_taken_over))
        .or_else(|| all().find(has_foreign))
}

/// istioctl's code for a finding where it has one, else ours.
pub fn shown_code(finding: &Finding) -> &'static str {
    finding.ist.unwrap_or(finding.code)
}

/// Other tools' codes for a finding: of istioctl's only the one that it shows, where the rule has
/// several.
pub fn foreign_codes(finding: &Finding) -> impl Iterator<Item = &'static str> {
    let all = named(finding.code).map_or(&[][..], |rule| rule.aka);
    let ist = finding.ist;
    let is_meant = move |aka: &&str| !aka.starts_with("IST") || ist == Some(aka);
    all.iter().copied().filter(is_meant)
}
