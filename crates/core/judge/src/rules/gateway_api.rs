//! Rules of the Gateway API's objects, for `analyze`.

use super::Rule;

mod backend_missing;
mod gateway_class_unknown;
mod gateways_share_address;
mod gateways_share_listener;
mod grant_for_unknown_namespace;
mod listener;
mod listener_not_served;
mod listeners_alike;
mod parent_does_not_take_route;
mod references;

pub(super) static RULES: &[&Rule] = &[
    &parent_does_not_take_route::RULE,
    &backend_missing::RULE,
    &gateways_share_listener::RULE,
    &gateways_share_address::RULE,
    &listeners_alike::RULE,
    &gateway_class_unknown::RULE,
    &grant_for_unknown_namespace::RULE,
    &listener_not_served::RULE,
];
