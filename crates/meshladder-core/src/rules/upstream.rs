//! Rules of the rung `upstream`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
