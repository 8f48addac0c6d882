//! Rules of the rung `identity`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
