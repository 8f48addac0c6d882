//! Rules of the rung `routing`.

use super::Rule;

mod action;
mod answered_by_route;
mod delegate_not_used;
mod effect;
mod envoy_filter_for_nobody;
mod envoy_filter_not_in_proxy;
mod fault_beside_retries;
mod fault_injected;
mod host_not_served;
mod http_route;
mod http_route_not_accepted;
mod http_rules_on_tcp_port;
mod in_sync;
mod match_missed_by_case;
mod no_route_matches;
mod path_rewritten;
mod registry_only_blocks_host;
mod route_never_reached;
mod service_has_no_such_port;
mod service_out_of_scope;
mod service_unknown;
mod sidecar_is_no_firewall;
mod sidecar_not_used;
mod sidecar_port_without_service;
mod upgrade_refused;
mod virtual_service_host_unknown;
mod virtual_service_loses_its_host;
mod virtual_service_matches_nothing;
mod virtual_service_not_exported;
mod virtual_service_not_for_sidecars;
mod virtual_service_not_imported;
mod virtual_service_not_in_proxy;
mod wildcard_takes_calls;

pub(super) static RULES: &[&Rule] = &[
    &virtual_service_not_for_sidecars::RULE,
    &virtual_service_not_exported::RULE,
    &virtual_service_not_imported::RULE,
    &virtual_service_host_unknown::RULE,
    &virtual_service_loses_its_host::RULE,
    &http_rules_on_tcp_port::RULE,
    &route_never_reached::RULE,
    &virtual_service_not_in_proxy::RULE,
    &fault_injected::RULE,
    &fault_beside_retries::RULE,
    &answered_by_route::RULE,
    &host_not_served::RULE,
    &no_route_matches::RULE,
    &registry_only_blocks_host::RULE,
    &service_out_of_scope::RULE,
    &sidecar_is_no_firewall::RULE,
    &sidecar_port_without_service::RULE,
    &envoy_filter_for_nobody::RULE,
    &upgrade_refused::RULE,
    &service_has_no_such_port::RULE,
    &envoy_filter_not_in_proxy::RULE,
    &path_rewritten::RULE,
    &delegate_not_used::RULE,
    &virtual_service_matches_nothing::RULE,
    &http_route_not_accepted::RULE,
    &service_unknown::RULE,
    &wildcard_takes_calls::RULE,
    &match_missed_by_case::RULE,
    &sidecar_not_used::RULE,
];
