//! Rules of what a cluster or several say: Services, networks, CustomResourceDefinitions, conditions.

use super::Rule;

mod condition_not_met;
mod gateway_api_too_old;
mod network_of_unknown_registry;
mod rbac_kinds_left_over;
mod service_differs_between_clusters;

pub(super) static RULES: &[&Rule] = &[
    &service_differs_between_clusters::RULE,
    &network_of_unknown_registry::RULE,
    &gateway_api_too_old::RULE,
    &rbac_kinds_left_over::RULE,
    &condition_not_met::RULE,
];
