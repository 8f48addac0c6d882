//! Rules of ambient mode, on all rungs: who is captured, ztunnels, waypoints, and what of policies
//! and routes nobody enforces there.

use super::Rule;

mod agent_not_on_node;
mod allow_forgets_waypoint;
mod application_refuses_ztunnel;
mod caller_not_captured;
mod empty_selector_at_ztunnel;
mod l7_policy_at_ztunnel;
mod meets;
mod network_policy_blocks_hbone;
mod network_policy_blocks_probes;
mod pod_not_captured;
mod policy_for_uncaptured_pod;
mod policy_target_not_bound;
mod refused_by_ztunnel;
mod request_policy_ignored_in_ambient;
mod route_without_waypoint;
mod waypoint_bypassed;
mod waypoint_not_bound;
mod waypoint_without_pods;
mod ztunnel_certificate_unavailable;
mod ztunnel_does_not_serve_pod;
mod ztunnel_holds_stale_endpoint;
mod ztunnel_network_differs;
mod ztunnel_not_on_node;

pub(super) static RULES: &[&Rule] = &[
    &caller_not_captured::RULE,
    &agent_not_on_node::RULE,
    &ztunnel_not_on_node::RULE,
    &ztunnel_does_not_serve_pod::RULE,
    &ztunnel_certificate_unavailable::RULE,
    &ztunnel_holds_stale_endpoint::RULE,
    &ztunnel_network_differs::RULE,
    &pod_not_captured::RULE,
    &policy_for_uncaptured_pod::RULE,
    &waypoint_not_bound::RULE,
    &waypoint_without_pods::RULE,
    &route_without_waypoint::RULE,
    &l7_policy_at_ztunnel::RULE,
    &policy_target_not_bound::RULE,
    &allow_forgets_waypoint::RULE,
    &refused_by_ztunnel::RULE,
    &waypoint_bypassed::RULE,
    &empty_selector_at_ztunnel::RULE,
    &request_policy_ignored_in_ambient::RULE,
    &network_policy_blocks_hbone::RULE,
    &network_policy_blocks_probes::RULE,
    &application_refuses_ztunnel::RULE,
];
