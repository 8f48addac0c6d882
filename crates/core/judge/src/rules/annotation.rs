//! Rules of annotations, for `analyze`.

use super::Rule;

mod annotation_deprecated;
mod annotation_is_alpha;
mod annotation_misplaced;
mod annotation_unknown;
mod annotation_value_invalid;
mod known;
mod value;

pub(super) static RULES: &[&Rule] = &[
    &annotation_misplaced::RULE,
    &annotation_unknown::RULE,
    &annotation_value_invalid::RULE,
    &annotation_deprecated::RULE,
    &annotation_is_alpha::RULE,
];
