//! Rules of CustomResourceDefinitions, for `analyze`.

use super::Rule;

mod gateway_api_too_old;
mod rbac_kinds_left_over;

pub(super) static RULES: &[&Rule] = &[&gateway_api_too_old::RULE, &rbac_kinds_left_over::RULE];
