//! Rules of DestinationRules, for `analyze`.

use super::Rule;

mod host_unknown;
mod mutual_tls_not_demanded;
mod mutual_tls_to_plain_text;
mod peers;
mod plain_text_to_strict;
mod port_tls_without_ca;
mod rule_drops_mutual_tls;
mod rules_for_one_host;
mod subset_finds_no_pod;
mod subset_without_labels;
mod tls_without_ca;
mod verification;

pub(super) static RULES: &[&Rule] = &[
    &tls_without_ca::RULE,
    &port_tls_without_ca::RULE,
    &subset_finds_no_pod::RULE,
    &host_unknown::RULE,
    &rules_for_one_host::RULE,
    &plain_text_to_strict::RULE,
    &mutual_tls_to_plain_text::RULE,
    &subset_without_labels::RULE,
    &rule_drops_mutual_tls::RULE,
    &mutual_tls_not_demanded::RULE,
];
