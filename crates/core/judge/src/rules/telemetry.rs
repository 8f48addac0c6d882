//! Rules of the rung `telemetry`, and of Telemetries.

use super::Rule;

mod access_log_without_provider;
mod cel;
mod debug_log_left_on;
mod expression_is_no_cel;
mod istiod_debug_log;
mod lightstep_deprecated;
mod no_access_log;
mod selection;
mod telemetries_share_a_pod;
mod telemetry_selects_no_pod;
mod telemetry_silences_nothing;
mod two_default_telemetries;

pub(super) static RULES: &[&Rule] = &[
    &debug_log_left_on::RULE,
    &istiod_debug_log::RULE,
    &no_access_log::RULE,
    &telemetry_silences_nothing::RULE,
    &telemetry_selects_no_pod::RULE,
    &telemetries_share_a_pod::RULE,
    &two_default_telemetries::RULE,
    &access_log_without_provider::RULE,
    &lightstep_deprecated::RULE,
    &expression_is_no_cel::RULE,
];
