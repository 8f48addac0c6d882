//! Rules of the rung `authorization`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
