//! Rules of DestinationRules, for `analyze`.

use super::Rule;

mod host_unknown;
mod port_tls_without_ca;
mod subset_finds_no_pod;
mod tls_without_ca;
mod verification;

pub(super) static RULES: &[&Rule] =
    &[&tls_without_ca::RULE, &port_tls_without_ca::RULE, &subset_finds_no_pod::RULE, &host_unknown::RULE];
