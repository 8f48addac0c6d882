//! Rules of EnvoyFilters, for `analyze`.

use super::Rule;

mod add_has_no_effect;
mod patch_order_by_chance;
mod patch_order_by_version;
mod patches;
mod remove_has_no_effect;
mod replace_has_no_effect;

pub(super) static RULES: &[&Rule] = &[
    &patch_order_by_chance::RULE,
    &replace_has_no_effect::RULE,
    &add_has_no_effect::RULE,
    &remove_has_no_effect::RULE,
    &patch_order_by_version::RULE,
];
