//! Rules of the rung `sync`.

use super::Rule;

mod drift;
mod duplicate_listeners;
mod envoy_filter_rejected;
mod external_name_rejected;
mod link;
mod network_policy_blocks_dns;
mod network_policy_blocks_istiod;
mod proxy_disconnected;
mod proxy_stale;
mod rejection;
mod streams_without_pods;
mod update_rejected;
mod version_skew_rejected;

pub(super) use network_policy_blocks_istiod::repairs;

pub(super) static RULES: &[&Rule] = &[
    &network_policy_blocks_istiod::RULE,
    &network_policy_blocks_dns::RULE,
    &proxy_disconnected::RULE,
    &envoy_filter_rejected::RULE,
    &duplicate_listeners::RULE,
    &external_name_rejected::RULE,
    &version_skew_rejected::RULE,
    &update_rejected::RULE,
    &proxy_stale::RULE,
    &streams_without_pods::RULE,
];
