//! Rules of the rung `endpoints`.

use super::Rule;

mod subset_selects_no_pods;

pub(super) static RULES: &[&Rule] = &[&subset_selects_no_pods::RULE];
