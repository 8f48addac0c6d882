//! Rules of the rung `control-plane`: istiod, and the webhooks that lead to it.

use super::Rule;

mod endpoints_lost;
mod external;
mod hooks;
mod istiod_down;
mod istiod_service_leads_nowhere;
mod validation_webhook_unserved;
mod webhook;
mod webhook_address_is_ip;
mod webhook_ca_invalid;
mod webhook_service_unknown;
mod webhook_without_address;
mod webhooks_overlap;

pub(super) static RULES: &[&Rule] = &[
    &istiod_down::RULE,
    &validation_webhook_unserved::RULE,
    &webhook_ca_invalid::RULE,
    &endpoints_lost::RULE,
    &istiod_service_leads_nowhere::RULE,
    &webhooks_overlap::RULE,
    &webhook_service_unknown::RULE,
    &webhook_without_address::RULE,
    &webhook_address_is_ip::RULE,
];
