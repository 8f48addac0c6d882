//! The rule book: every family, and how a rule is found by its code or its name.

use std::sync::LazyLock;

use super::{Rule, retired};
use super::{
    ambient, annotation, authorization, cluster, config, control_plane, destination_rule,
    endpoints, enrolment, envoy_filter, gateway_api, identity, multicluster, policy, reach,
    routing, schema, service, sidecar, sync, telemetry, upstream, virtual_service, workload,
};
use crate::finding::Finding;

/// Every family: those of the rungs first, in their order, then those of what objects say.
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
    multicluster::RULES,
    virtual_service::RULES,
    destination_rule::RULES,
    service::RULES,
    sidecar::RULES,
    policy::RULES,
    envoy_filter::RULES,
    schema::RULES,
    gateway_api::RULES,
    annotation::RULES,
    cluster::RULES,
    workload::RULES,
    ambient::RULES,
];

/// All rules, by code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    static BY_CODE: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
        let mut rules: Vec<&'static Rule> = FAMILIES.iter().copied().flatten().copied().collect();
        rules.sort_by_key(|rule| rule.code);
        rules
    });
    BY_CODE.iter().copied()
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
