//! Rules of the rung `sync`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
