//! Rules of VirtualServices, for `analyze`.

use super::Rule;

pub(in crate::rules) mod bound;
mod claim_without_authentication;
mod delay_percent_deprecated;
pub(in crate::rules) mod destination;
mod destination_listed_twice;
mod destination_port_missing;
mod exported_to_unknown_namespace;
mod gateway_by_its_old_name;
mod gateway_route_skips_subsets;
mod internal_gateway_named;
mod match_never_used;
pub(in crate::rules) mod matches;
mod weight_of_one_destination;

pub(super) static RULES: &[&Rule] = &[
    &destination_port_missing::RULE,
    &gateway_route_skips_subsets::RULE,
    &internal_gateway_named::RULE,
    &match_never_used::RULE,
    &claim_without_authentication::RULE,
    &delay_percent_deprecated::RULE,
    &weight_of_one_destination::RULE,
    &destination_listed_twice::RULE,
    &gateway_by_its_old_name::RULE,
    &exported_to_unknown_namespace::RULE,
];
