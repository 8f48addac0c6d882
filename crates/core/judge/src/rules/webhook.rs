//! Rules of webhooks, for `analyze`.

use super::Rule;

mod external;
mod hooks;
mod webhook_address_is_ip;
mod webhook_service_unknown;
mod webhook_without_address;
mod webhooks_overlap;

pub(super) static RULES: &[&Rule] = &[
    &webhooks_overlap::RULE,
    &webhook_service_unknown::RULE,
    &webhook_without_address::RULE,
    &webhook_address_is_ip::RULE,
];
