//! Rules of what objects may say at all, for `analyze`: fields, types, values, and what the
//! admission webhook refuses.

use super::Rule;

mod exclusive_fields;
mod fields_do_not_fit;
mod invalid_host;
mod invalid_regex;
mod invalid_value;
mod loosely_written;
mod missing_field;
mod outdated_field;
mod said_twice;
mod setting_has_no_effect;
mod told;
mod unknown_enum_value;
mod unknown_field;
mod wider_than_it_looks;
mod wrong_type;

pub(super) static RULES: &[&Rule] = &[
    &unknown_field::RULE,
    &wrong_type::RULE,
    &unknown_enum_value::RULE,
    &missing_field::RULE,
    &exclusive_fields::RULE,
    &invalid_value::RULE,
    &invalid_host::RULE,
    &invalid_regex::RULE,
    &said_twice::RULE,
    &fields_do_not_fit::RULE,
    &setting_has_no_effect::RULE,
    &outdated_field::RULE,
    &loosely_written::RULE,
    &wider_than_it_looks::RULE,
];
