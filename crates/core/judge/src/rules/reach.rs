//! Rules of the rung `reach`.

use super::Rule;

mod missing_facts;

pub(super) static RULES: &[&Rule] = &[&missing_facts::RULE];

/// The rule that the ladder itself applies when nothing can be decided.
pub fn missing_facts() -> &'static Rule {
    &missing_facts::RULE
}
