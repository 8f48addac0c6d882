//! Rules of VirtualServices, for `analyze`.

use super::Rule;

mod destination;
mod destination_listed_twice;
mod destination_port_missing;
mod destination_port_unknown;
mod destination_unknown;
mod exported_to_unknown_namespace;
mod gateway_by_its_old_name;
mod gateway_lacks_hosts;
mod gateway_route_skips_subsets;
mod hosts_claimed_twice;
mod weight_of_one_destination;

pub(super) static RULES: &[&Rule] = &[
    &destination_unknown::RULE,
    &destination_port_unknown::RULE,
    &destination_port_missing::RULE,
    &hosts_claimed_twice::RULE,
    &gateway_lacks_hosts::RULE,
    &gateway_route_skips_subsets::RULE,
    &weight_of_one_destination::RULE,
    &destination_listed_twice::RULE,
    &gateway_by_its_old_name::RULE,
    &exported_to_unknown_namespace::RULE,
];
