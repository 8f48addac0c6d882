//! Rules of the rung `control-plane`.

use super::Rule;

mod endpoints_lost;
mod istiod_down;
mod istiod_service_leads_nowhere;
mod validation_webhook_unserved;
mod webhook;
mod webhook_ca_invalid;

pub(super) static RULES: &[&Rule] = &[
    &istiod_down::RULE,
    &validation_webhook_unserved::RULE,
    &webhook_ca_invalid::RULE,
    &endpoints_lost::RULE,
    &istiod_service_leads_nowhere::RULE,
];
