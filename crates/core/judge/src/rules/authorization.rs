//! Rules of the rung `authorization`.

use super::Rule;

mod account_changed;
mod and_written_as_or;
mod caller_in_plain_text;
mod custom_provider_unknown;
mod denial;
mod denied_by_policy;
mod denied_once_repaired;
mod dumped;
mod ext_authz_denies;
mod ext_authz_unreachable;
mod http_rule_on_tcp_port;
mod ip_blocks_behind_load_balancer;
mod jwks_not_fetched;
mod no_token;
mod not_in_allow_list;
mod policy_misses_workload;
mod remote_ip_blocks_at_sidecar;
mod remote_jwks_fails;
mod rule_never_matches;
mod token_never_read;
mod token_not_required;
mod token_refused;
mod token_slip;
mod unmatched;

pub(super) use denial::{As, verdict, workload};

pub(super) static RULES: &[&Rule] = &[
    &denied_by_policy::RULE,
    &not_in_allow_list::RULE,
    &account_changed::RULE,
    &http_rule_on_tcp_port::RULE,
    &custom_provider_unknown::RULE,
    &ext_authz_unreachable::RULE,
    &and_written_as_or::RULE,
    &caller_in_plain_text::RULE,
    &ip_blocks_behind_load_balancer::RULE,
    &remote_ip_blocks_at_sidecar::RULE,
    &jwks_not_fetched::RULE,
    &token_not_required::RULE,
    &no_token::RULE,
    &remote_jwks_fails::RULE,
    &token_refused::RULE,
    &ext_authz_denies::RULE,
    &denied_once_repaired::RULE,
    &token_never_read::RULE,
    &policy_misses_workload::RULE,
    &rule_never_matches::RULE,
];
