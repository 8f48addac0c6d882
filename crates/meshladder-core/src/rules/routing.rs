//! Rules of the rung `routing`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
