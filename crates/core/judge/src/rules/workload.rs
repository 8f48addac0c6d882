//! Rules of Deployments, WorkloadGroups and the Services in front of workloads, for `analyze`.

use super::Rule;

mod group_account_missing;
mod groups_alike;
mod services;
mod services_disagree_on_transport;
mod services_share_a_target_port;
mod workload_without_policy;

pub(super) static RULES: &[&Rule] = &[
    &services_disagree_on_transport::RULE,
    &services_share_a_target_port::RULE,
    &workload_without_policy::RULE,
    &group_account_missing::RULE,
    &groups_alike::RULE,
];
