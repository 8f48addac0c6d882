//! Rules of VirtualServices, for `analyze`.

use super::Rule;

mod bound;
mod claim_without_authentication;
mod delay_percent_deprecated;
mod destination;
mod destination_listed_twice;
mod destination_port_missing;
mod destination_port_unknown;
mod destination_unknown;
mod exported_to_unknown_namespace;
mod gateway_by_its_old_name;
mod gateway_lacks_hosts;
mod gateway_route_skips_subsets;
mod gateway_unknown;
mod hosts_claimed_twice;
mod internal_gateway_named;
mod match_never_used;
mod matches;
mod rule_never_reached;
mod subset_undefined;
mod weight_of_one_destination;

pub(super) static RULES: &[&Rule] = &[
    &destination_unknown::RULE,
    &destination_port_unknown::RULE,
    &destination_port_missing::RULE,
    &hosts_claimed_twice::RULE,
    &gateway_lacks_hosts::RULE,
    &gateway_route_skips_subsets::RULE,
    &subset_undefined::RULE,
    &gateway_unknown::RULE,
    &internal_gateway_named::RULE,
    &rule_never_reached::RULE,
    &match_never_used::RULE,
    &claim_without_authentication::RULE,
    &delay_percent_deprecated::RULE,
    &weight_of_one_destination::RULE,
    &destination_listed_twice::RULE,
    &gateway_by_its_old_name::RULE,
    &exported_to_unknown_namespace::RULE,
];
