//! Rules of workloads and the Services in front of them, for `analyze`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
