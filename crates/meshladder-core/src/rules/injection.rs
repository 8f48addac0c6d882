//! Rules of injection, for `analyze`.

use super::Rule;

mod application_has_proxys_uid;
mod labels;
mod namespace_asks_twice;
mod namespace_injected_by_default;
mod namespace_not_injected;
mod pod_without_proxy;

pub(super) static RULES: &[&Rule] = &[
    &namespace_not_injected::RULE,
    &pod_without_proxy::RULE,
    &namespace_asks_twice::RULE,
    &namespace_injected_by_default::RULE,
    &application_has_proxys_uid::RULE,
];
