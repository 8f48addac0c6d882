//! Rules of several clusters, for `analyze`.

use super::Rule;

mod network_of_unknown_registry;
mod service_differs_between_clusters;

pub(super) static RULES: &[&Rule] = &[
    &service_differs_between_clusters::RULE,
    &network_of_unknown_registry::RULE,
];
