//! Rules of what istiod reports of objects, for `analyze`.

use super::Rule;

mod condition_not_met;

pub(super) static RULES: &[&Rule] = &[&condition_not_met::RULE];
