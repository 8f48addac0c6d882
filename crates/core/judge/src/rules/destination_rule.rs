//! Rules of DestinationRules, for `analyze`.

use super::Rule;

mod mutual_tls_not_demanded;
pub(in crate::rules) mod peers;
mod port_tls_without_ca;
mod rule_drops_mutual_tls;
mod rules_for_one_host;
mod subset_without_labels;
mod tls_without_ca;
mod verification;

pub(super) static RULES: &[&Rule] = &[
    &tls_without_ca::RULE,
    &port_tls_without_ca::RULE,
    &rules_for_one_host::RULE,
    &subset_without_labels::RULE,
    &rule_drops_mutual_tls::RULE,
    &mutual_tls_not_demanded::RULE,
];
