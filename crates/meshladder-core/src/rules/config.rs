//! Rules of the rung `config`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
