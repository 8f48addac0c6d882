//! Rules of the rung `telemetry`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
