//! Rules of the rung `config`.

use super::Rule;

mod clients;
mod gateway_port_not_on_service;
mod gateway_selects_no_pod;
mod gateway_server_conflict;
mod gateway_takes_no_such_host;
mod met;
mod nearest;
mod route_to_missing_port;
mod route_to_undefined_subset;
mod route_to_unknown_host;
mod section_against_tls_mode;
mod virtual_service_host_in_no_registry;
mod virtual_service_names_missing_gateway;

const DESTINATION_RULES: &str = "k8s/destinationrules.networking.istio.io.json";
const GATEWAYS: &str = "k8s/gateways.networking.istio.io.json";
const PODS: &str = "k8s/pods.json";
const SERVICES: &str = "k8s/services.json";
const SERVICE_ENTRIES: &str = "k8s/serviceentries.networking.istio.io.json";
const SIDECARS: &str = "k8s/sidecars.networking.istio.io.json";
const VIRTUAL_SERVICES: &str = "k8s/virtualservices.networking.istio.io.json";

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
];
