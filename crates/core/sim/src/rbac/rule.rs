//! The trees of a policy: `Permission` and `Principal`.

use super::condition::RbacCondition;
use crate::{RequestState, Tri};
use meshladder_text::json::Raw;

/// A compiled `Permission` or `Principal`.
#[derive(Clone, Debug)]
pub enum RbacRule {
    /// `and_rules`, `and_ids`
    And(Vec<RbacRule>),
    /// `or_rules`, `or_ids`
    Or(Vec<RbacRule>),
    /// `not_rule`, `not_id`
    Not(Box<RbacRule>),
    /// `any`
    Any,
    /// Anything that looks at the request.
    Condition(RbacCondition),
}

impl RbacRule {
    /// Compiles a `Permission`.
    pub fn permission(raw: Raw<'_>) -> Self {
        Self::compile(raw, RbacCondition::permission)
    }

    /// Compiles a `Principal`.
    pub fn principal(raw: Raw<'_>) -> Self {
        Self::compile(raw, RbacCondition::principal)
    }

    fn compile(raw: Raw<'_>, condition: fn(&str, Raw<'_>) -> RbacCondition) -> Self {
        let Some((key, value)) = raw.members().next() else {
            let fact = "what an empty rule decides".into();
            return Self::Condition(RbacCondition::Unmodelled(fact));
        };
        match &*key {
            "and_rules" => Self::And(Self::compile_list(value, "rules", condition)),
            "and_ids" => Self::And(Self::compile_list(value, "ids", condition)),
            "or_rules" => Self::Or(Self::compile_list(value, "rules", condition)),
            "or_ids" => Self::Or(Self::compile_list(value, "ids", condition)),
            "not_rule" | "not_id" => Self::Not(Box::new(Self::compile(value, condition))),
            "any" => Self::Any,
            other => Self::Condition(condition(other, value)),
        }
    }

    fn compile_list(
        set: Raw<'_>,
        field: &str,
        condition: fn(&str, Raw<'_>) -> RbacCondition,
    ) -> Vec<Self> {
        let mut rules = Vec::new();
        for raw in set.list(field) {
            rules.push(Self::compile(raw, condition));
        }
        rules
    }

    /// Whether it holds.
    pub fn matches(&self, state: &RequestState<'_>) -> Tri {
        match self {
            // "A set of rules that all must match in order to define the action."
            Self::And(rules) => Tri::all(rules.iter().map(|rule| rule.matches(state))),
            // "A set of rules where at least one must match in order to define the action."
            Self::Or(rules) => Self::any(rules, state),
            Self::Not(rule) => rule.matches(state).negate(),
            Self::Any => Tri::Yes,
            Self::Condition(condition) => condition.matches(state),
        }
    }

    /// Whether one of them holds.
    pub(super) fn any(rules: &[Self], state: &RequestState<'_>) -> Tri {
        Tri::any(rules.iter().map(|rule| rule.matches(state)))
    }
}
