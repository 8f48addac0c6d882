//! Rules of the rung `control-plane`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
