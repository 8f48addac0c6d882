//! Rules of Gateways, for `analyze`.

use super::Rule;

pub(super) static RULES: &[&Rule] = &[];
