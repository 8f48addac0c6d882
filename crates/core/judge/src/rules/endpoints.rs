//! Rules of the rung `endpoints`.

use super::Rule;

mod all_endpoints_ejected;
pub(super) mod called_service;
mod distribute_leads_nowhere;
mod ejection_percent_below_one;
mod endpoint_gone;
mod endpoint_slices_empty;
mod endpoints_ejected;
mod entry_endpoint_unreachable;
mod entry_host_unresolved;
mod entry_without_endpoints;
mod failover_without_outlier_detection;
mod headless_endpoint_gone;
mod listed_address_unreachable;
mod locality;
mod network_policy_blocks_port;
mod no_endpoint_on_node;
mod no_pod_ready;
mod outlier_detection_counts_alone;
mod outlier_detection_keeps_traffic_local;
mod outliers;
mod pod_name_without_route;
mod pod_takes_no_connections;
mod pods_not_created;
mod proxy_endpoints_differ;
mod proxy_has_no_endpoints;
pub(super) mod service_entry_shadows_service;
mod service_selects_another_workload;
mod service_selects_no_pods;
mod services_disagree_on_port;
mod slice_lacks_port;
mod slices;
mod subset_selects_no_pods;
mod target_port_not_open;
mod workload_scaled_to_zero;

pub(in crate::rules) use service_selects_no_pods::meant_pods;

pub(super) static RULES: &[&Rule] = &[
    &subset_selects_no_pods::RULE,
    &service_selects_no_pods::RULE,
    &workload_scaled_to_zero::RULE,
    &no_pod_ready::RULE,
    &endpoint_slices_empty::RULE,
    &target_port_not_open::RULE,
    &endpoint_gone::RULE,
    &proxy_has_no_endpoints::RULE,
    &proxy_endpoints_differ::RULE,
    &all_endpoints_ejected::RULE,
    &endpoints_ejected::RULE,
    &outlier_detection_counts_alone::RULE,
    &ejection_percent_below_one::RULE,
    &outlier_detection_keeps_traffic_local::RULE,
    &failover_without_outlier_detection::RULE,
    &distribute_leads_nowhere::RULE,
    &pod_name_without_route::RULE,
    &headless_endpoint_gone::RULE,
    &services_disagree_on_port::RULE,
    &service_entry_shadows_service::RULE,
    &pods_not_created::RULE,
    &network_policy_blocks_port::RULE,
    &entry_endpoint_unreachable::RULE,
    &entry_without_endpoints::RULE,
    &listed_address_unreachable::RULE,
    &slice_lacks_port::RULE,
    &service_selects_another_workload::RULE,
    &no_endpoint_on_node::RULE,
    &entry_host_unresolved::RULE,
    &pod_takes_no_connections::RULE,
];
