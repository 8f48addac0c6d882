//! Why a rule does not hold, in as few conditions as can be.

use super::rule::RbacRule;
use crate::{RequestState, Tri};

/// The failing conditions of the alternative that has the fewest; nothing when one of them holds.
pub(super) fn of_alternatives(rules: &[RbacRule], state: &RequestState<'_>) -> Vec<String> {
    if RbacRule::any(rules, state) == Tri::Yes {
        return Vec::new();
    }
    if rules
        .iter()
        .all(|rule| matches!(rule, RbacRule::Condition(_)))
    {
        let whys = rules
            .iter()
            .flat_map(|rule| failures(rule, state))
            .collect();
        return joined(whys).into_iter().collect();
    }
    rules
        .iter()
        .map(|rule| failures(rule, state))
        .min_by_key(Vec::len)
        .unwrap_or_default()
}

fn failures(rule: &RbacRule, state: &RequestState<'_>) -> Vec<String> {
    match rule {
        RbacRule::And(rules) => {
            let failing = rules.iter().filter(|rule| rule.matches(state) != Tri::Yes);
            failing.flat_map(|rule| failures(rule, state)).collect()
        }
        RbacRule::Or(rules) => of_alternatives(rules, state),
        RbacRule::Not(rule) => vec![format!("{}, which is excluded", successes(rule, state))],
        RbacRule::Any => Vec::new(),
        RbacRule::Condition(condition) => vec![condition.why(state)],
    }
}

/// Why a rule holds.
fn successes(rule: &RbacRule, state: &RequestState<'_>) -> String {
    match rule {
        RbacRule::And(rules) => rules
            .iter()
            .map(|rule| successes(rule, state))
            .collect::<Vec<_>>()
            .join(" and "),
        RbacRule::Or(rules) => {
            let holds = rules
                .iter()
                .find(|rule| rule.matches(state) == Tri::Yes)
                .or(rules.first());
            holds.map_or_else(String::new, |rule| successes(rule, state))
        }
        RbacRule::Not(rule) => failures(rule, state).join(" and "),
        RbacRule::Any => "everything matches".to_owned(),
        RbacRule::Condition(condition) => condition.why(state),
    }
}

/// How many alternatives are spelled out.
const SHOWN: usize = 4;

/// Sentences that start alike become one: ``port 80 is not 443, 8443``.
fn joined(mut sentences: Vec<String>) -> Option<String> {
    sentences.dedup();
    let (first, rest) = sentences.split_first()?;
    let common = rest
        .iter()
        .map(|sentence| common_words(first, sentence))
        .min()
        .unwrap_or_default();
    let mut text = first.clone();
    for sentence in rest.iter().take(SHOWN - 1) {
        text.push_str(", ");
        text.push_str(&sentence[common..]);
    }
    if rest.len() >= SHOWN {
        let more = rest.len() + 1 - SHOWN;
        text.push_str(" and ");
        text.push_str(&more.to_string());
        text.push_str(" more");
    }
    Some(text)
}

/// How many bytes of whole words two sentences have in common at their start.
fn common_words(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    a.as_bytes()[..same]
        .iter()
        .rposition(|byte| *byte == b' ')
        .map_or(0, |space| space + 1)
}
