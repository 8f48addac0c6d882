//! Rules of Gateways, for `analyze`.

use super::Rule;

mod certificate_in_two_gateways;
mod credential;
mod credential_unknown;
mod credential_unusable;
mod gateways_claim_one_host;
mod port_not_on_service;
mod selector_finds_no_pod;

pub(super) static RULES: &[&Rule] = &[
    &selector_finds_no_pod::RULE,
    &port_not_on_service::RULE,
    &gateways_claim_one_host::RULE,
    &certificate_in_two_gateways::RULE,
    &credential_unknown::RULE,
    &credential_unusable::RULE,
];
