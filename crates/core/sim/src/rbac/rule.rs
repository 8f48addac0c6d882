//! The trees of a policy: `Permission` and `Principal`.

use super::condition::Condition;
use crate::{State, Tri};
use meshladder_text::json::Raw;

/// A compiled `Permission` or `Principal`.
#[derive(Clone, Debug)]
pub enum Rule {
    /// `and_rules`, `and_ids`
    And(Vec<Rule>),
    /// `or_rules`, `or_ids`
    Or(Vec<Rule>),
    /// `not_rule`, `not_id`
    Not(Box<Rule>),
    /// `any`
    Any,
    /// Anything that looks at the request.
    Condition(Condition),
}

impl Rule {
    /// Compiles a `Permission`.
    pub fn permission(raw: Raw<'_>) -> Self {
        Self::compile(raw, Condition::permission)
    }

    /// Compiles a `Principal`.
    pub fn principal(raw: Raw<'_>) -> Self {
        Self::compile(raw, Condition::principal)
    }

    fn compile(raw: Raw<'_>, condition: fn(&str, Raw<'_>) -> Condition) -> Self {
        let Some((key, value)) = raw.members().next() else {
            return Self::Condition(Condition::Unmodelled("what an empty rule decides".into()));
        };
        let set = |key| {
            value
                .list(key)
                .map(|raw| Self::compile(raw, condition))
                .collect()
        };
        match &*key {
            "and_rules" => Self::And(set("rules")),
            "and_ids" => Self::And(set("ids")),
            "or_rules" => Self::Or(set("rules")),
            "or_ids" => Self::Or(set("ids")),
            "not_rule" | "not_id" => Self::Not(Box::new(Self::compile(value, condition))),
            "any" => Self::Any,
            other => Self::Condition(condition(other, value)),
        }
    }

    /// Whether it holds.
    pub fn matches(&self, state: &State<'_>) -> Tri {
        match self {
            Self::And(rules) => Tri::all(rules.iter().map(|rule| rule.matches(state))),
            Self::Or(rules) => Self::any(rules, state),
            Self::Not(rule) => rule.matches(state).negate(),
            Self::Any => Tri::Yes,
            Self::Condition(condition) => condition.matches(state),
        }
    }

    /// Whether one of them holds.
    pub(super) fn any(rules: &[Self], state: &State<'_>) -> Tri {
        Tri::any(rules.iter().map(|rule| rule.matches(state)))
    }
}
