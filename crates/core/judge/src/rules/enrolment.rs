//! Rules of the rung `enrolment`: proxies, and the injection that gives pods one.

use super::Rule;

mod admission_refuses_pods;
mod app_before_proxy;
mod app_runs_as_proxy_user;
mod automatic_image_in_pod;
mod automatic_image_not_injected;
mod container;
mod host_network;
mod image;
mod init_container_without_network;
mod inject_label_ignored;
mod injection_webhook_unserved;
mod injection_withdrawn;
mod labels;
mod namespace_injected_by_default;
mod namespace_labelled_twice;
mod namespace_not_discovered;
mod namespace_not_injected;
mod namespace_revision_unknown;
mod network_policy_blocks_webhook;
mod outsider;
mod pod_older_than_injection;
mod policy_without_proxy;
mod proxy_drained;
mod proxy_image_differs;
mod proxy_not_ready;
mod proxy_out_of_memory;
mod redirection_not_in_place;
mod start_hook_failed;
mod workload_opted_out;

pub(super) use container::is_leaving;
pub(super) use injection_webhook_unserved::hit_refused;

pub(super) static RULES: &[&Rule] = &[
    &injection_webhook_unserved::RULE,
    &workload_opted_out::RULE,
    &namespace_revision_unknown::RULE,
    &namespace_labelled_twice::RULE,
    &host_network::RULE,
    &inject_label_ignored::RULE,
    &pod_older_than_injection::RULE,
    &app_runs_as_proxy_user::RULE,
    &redirection_not_in_place::RULE,
    &proxy_out_of_memory::RULE,
    &app_before_proxy::RULE,
    &start_hook_failed::RULE,
    &proxy_not_ready::RULE,
    &init_container_without_network::RULE,
    &policy_without_proxy::RULE,
    &network_policy_blocks_webhook::RULE,
    &injection_withdrawn::RULE,
    &namespace_not_discovered::RULE,
    &admission_refuses_pods::RULE,
    &proxy_drained::RULE,
    &namespace_not_injected::RULE,
    &namespace_injected_by_default::RULE,
    &proxy_image_differs::RULE,
    &automatic_image_not_injected::RULE,
    &automatic_image_in_pod::RULE,
];
