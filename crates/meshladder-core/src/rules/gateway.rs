//! Rules of Gateways, for `analyze`.

use super::Rule;

mod gateways_claim_one_host;
mod port_not_on_service;
mod selector_finds_no_pod;

pub(super) static RULES: &[&Rule] =
    &[&selector_finds_no_pod::RULE, &port_not_on_service::RULE, &gateways_claim_one_host::RULE];
