//! Rules of WorkloadGroups, for `analyze`.

use super::Rule;

mod group_account_missing;
mod groups_alike;

pub(super) static RULES: &[&Rule] = &[&group_account_missing::RULE, &groups_alike::RULE];
