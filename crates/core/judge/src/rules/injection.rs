//! Rules of injection, for `analyze`.

use super::Rule;

mod application_has_proxys_uid;
mod automatic_image_in_pod;
mod automatic_image_not_injected;
mod image;
mod labels;
mod namespace_asks_twice;
mod namespace_injected_by_default;
mod namespace_not_injected;
mod pod_without_proxy;
mod proxy_image_differs;

pub(super) static RULES: &[&Rule] = &[
    &namespace_not_injected::RULE,
    &pod_without_proxy::RULE,
    &namespace_asks_twice::RULE,
    &namespace_injected_by_default::RULE,
    &application_has_proxys_uid::RULE,
    &proxy_image_differs::RULE,
    &automatic_image_not_injected::RULE,
    &automatic_image_in_pod::RULE,
];
