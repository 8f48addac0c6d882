//! Rules of what joins the clusters of a mesh: what each istiod watches, networks and their
//! gateways, roots, and objects that must be alike in all of them.

use super::Rule;

mod gateway_not_exposing;
mod gateway_without_listener;
mod host_without_local_service;
mod joint;
mod mutual_tls_off_at_caller;
mod mutual_tls_off_at_server;
mod network_gateway_blocked;
mod network_gateway_unusable;
mod network_gateway_without_pods;
mod network_of_pods_wrong;
mod remote_cluster_not_read;
mod remote_cluster_not_watched;
mod remote_endpoints_unknown;
mod roots_differ;
mod routes_differ;
mod server_without_proxy;
mod service_kept_local;
mod service_port_differs;
mod subset_unknown_at_server;
mod trust_domains_differ;

/// The family.
pub(super) static RULES: &[&Rule] = &[
    &remote_cluster_not_watched::RULE,
    &remote_cluster_not_read::RULE,
    &network_gateway_unusable::RULE,
    &network_of_pods_wrong::RULE,
    &gateway_without_listener::RULE,
    &gateway_not_exposing::RULE,
    &network_gateway_blocked::RULE,
    &subset_unknown_at_server::RULE,
    &roots_differ::RULE,
    &trust_domains_differ::RULE,
    &service_kept_local::RULE,
    &host_without_local_service::RULE,
    &server_without_proxy::RULE,
    &mutual_tls_off_at_server::RULE,
    &routes_differ::RULE,
    &service_port_differs::RULE,
    &network_gateway_without_pods::RULE,
    &mutual_tls_off_at_caller::RULE,
    &remote_endpoints_unknown::RULE,
];
