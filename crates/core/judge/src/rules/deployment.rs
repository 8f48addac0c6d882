//! Rules of Deployments, for `analyze`.

use super::Rule;

mod services;
mod services_disagree_on_transport;
mod services_share_a_target_port;

pub(super) static RULES: &[&Rule] = &[
    &services_disagree_on_transport::RULE,
    &services_share_a_target_port::RULE,
];
