//! Rules of the Gateway API's objects, for `analyze`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
