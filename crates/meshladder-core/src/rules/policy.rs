//! Rules of policies, for `analyze`.

use super::Rule;

mod policy_for_nobody;
mod policy_names_unknown_namespace;

pub(super) static RULES: &[&Rule] = &[&policy_for_nobody::RULE, &policy_names_unknown_namespace::RULE];
