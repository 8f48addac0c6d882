//! Rules of VirtualServices, for `analyze`.

use super::Rule;

mod destination;
mod destination_port_missing;
mod destination_port_unknown;
mod destination_unknown;
mod gateway_lacks_hosts;
mod gateway_route_skips_subsets;
mod hosts_claimed_twice;

pub(super) static RULES: &[&Rule] = &[
    &destination_unknown::RULE,
    &destination_port_unknown::RULE,
    &destination_port_missing::RULE,
    &hosts_claimed_twice::RULE,
    &gateway_lacks_hosts::RULE,
    &gateway_route_skips_subsets::RULE,
];
