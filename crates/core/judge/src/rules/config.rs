//! Rules of the rung `config`.

use super::Rule;

mod clients;
mod destination_rule_for_unknown_host;
mod entries;
mod entries_disagree_on_protocol;
mod entry_host_may_not_resolve;
mod entry_lacks_port;
mod external_name_breaks_port;
mod gateway_port_not_on_service;
mod gateway_selects_no_pod;
mod gateway_server_conflict;
mod gateway_takes_no_such_host;
mod grpc_on_a_tcp_port;
mod headless_service_takes_port;
mod met;
pub(super) mod nearest;
mod one_certificate_on_several_servers;
mod patch;
mod route_leads_nowhere;
mod route_to_entry_without_resolution;
mod route_to_missing_port;
mod route_to_undefined_subset;
mod route_to_unknown_host;
mod section_against_tls_mode;
mod server_first_port_undeclared;
mod tcp_and_http_on_one_wildcard_port;
mod tcp_entry_takes_whole_port;
mod tls_without_sni;
mod virtual_service_host_in_no_registry;
mod virtual_service_names_missing_gateway;
mod wasm_module_not_loaded;
mod wildcard_tls_entry_takes_others;

pub(in crate::rules) use server_first_port_undeclared::SERVER_FIRST;

pub(super) static RULES: &[&Rule] = &[
    &virtual_service_names_missing_gateway::RULE,
    &gateway_takes_no_such_host::RULE,
    &virtual_service_host_in_no_registry::RULE,
    &route_to_undefined_subset::RULE,
    &route_to_unknown_host::RULE,
    &route_to_missing_port::RULE,
    &gateway_selects_no_pod::RULE,
    &gateway_server_conflict::RULE,
    &gateway_port_not_on_service::RULE,
    &section_against_tls_mode::RULE,
    &one_certificate_on_several_servers::RULE,
    &tls_without_sni::RULE,
    &destination_rule_for_unknown_host::RULE,
    &route_leads_nowhere::RULE,
    &tcp_and_http_on_one_wildcard_port::RULE,
    &grpc_on_a_tcp_port::RULE,
    &external_name_breaks_port::RULE,
    &server_first_port_undeclared::RULE,
    &tcp_entry_takes_whole_port::RULE,
    &entry_host_may_not_resolve::RULE,
    &entry_lacks_port::RULE,
    &route_to_entry_without_resolution::RULE,
    &wildcard_tls_entry_takes_others::RULE,
    &entries_disagree_on_protocol::RULE,
    &headless_service_takes_port::RULE,
    &wasm_module_not_loaded::RULE,
];
