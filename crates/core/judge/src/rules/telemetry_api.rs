//! Rules of Telemetries, for `analyze`.

use super::Rule;

mod access_log_without_provider;
mod cel;
mod expression_is_no_cel;
mod lightstep_deprecated;
mod selection;
mod telemetries_share_a_pod;
mod telemetry_selects_no_pod;
mod two_default_telemetries;

pub(super) static RULES: &[&Rule] = &[
    &telemetry_selects_no_pod::RULE,
    &telemetries_share_a_pod::RULE,
    &two_default_telemetries::RULE,
    &access_log_without_provider::RULE,
    &lightstep_deprecated::RULE,
    &expression_is_no_cel::RULE,
];
