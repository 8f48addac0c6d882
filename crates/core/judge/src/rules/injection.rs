//! Rules of injection, for `analyze`.

use super::Rule;

mod automatic_image_in_pod;
mod automatic_image_not_injected;
mod image;
mod labels;
mod namespace_injected_by_default;
mod namespace_not_injected;
mod proxy_image_differs;

pub(super) static RULES: &[&Rule] = &[
    &namespace_not_injected::RULE,
    &namespace_injected_by_default::RULE,
    &proxy_image_differs::RULE,
    &automatic_image_not_injected::RULE,
    &automatic_image_in_pod::RULE,
];
