//! Rules of the rung `enrolment`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
