//! Rules of the rung `telemetry`.

use super::Rule;

mod debug_log_left_on;
mod istiod_debug_log;
mod no_access_log;

pub(super) static RULES: &[&Rule] = &[
    &debug_log_left_on::RULE,
    &istiod_debug_log::RULE,
    &no_access_log::RULE,
];
