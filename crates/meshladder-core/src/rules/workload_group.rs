//! Rules of WorkloadGroups, for `analyze`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
