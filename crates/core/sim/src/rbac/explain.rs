//! Why a rule does not hold, in as few conditions as can be.

use super::rule::RbacRule;
use crate::{RequestState, Tri};

/// The failing conditions of the alternative that has the fewest; nothing when one of them holds.
pub(super) fn of_alternatives(rules: &[RbacRule], state: &RequestState<'_>) -> Vec<String> {
    if RbacRule::any(rules, state) == Tri::Yes {
        return Vec::new();
    }
    // Alternatives of one kind, as a list of ports, are told in one sentence.
    let is_condition = |rule: &RbacRule| matches!(rule, RbacRule::Condition(_));
    if rules.iter().all(is_condition) {
        return joined(failures_of(rules, state)).into_iter().collect();
    }

    // The alternative that lacks the least is what the user most likely meant.
    let mut fewest: Option<Vec<String>> = None;
    for rule in rules {
        let failures = failures(rule, state);
        if fewest
            .as_ref()
            .is_none_or(|fewest| failures.len() < fewest.len())
        {
            fewest = Some(failures);
        }
    }
    fewest.unwrap_or_default()
}

fn failures_of(rules: &[RbacRule], state: &RequestState<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for rule in rules {
        all.extend(failures(rule, state));
    }
    all
}

fn failures(rule: &RbacRule, state: &RequestState<'_>) -> Vec<String> {
    match rule {
        RbacRule::And(rules) => {
            let mut all = Vec::new();
            for rule in rules {
                if rule.matches(state) != Tri::Yes {
                    all.extend(failures(rule, state));
                }
            }
            all
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
        RbacRule::And(rules) => {
            let all: Vec<_> = rules.iter().map(|rule| successes(rule, state)).collect();
            all.join(" and ")
        }
        RbacRule::Or(rules) => {
            let holds = rules.iter().find(|rule| rule.matches(state) == Tri::Yes);
            match holds.or(rules.first()) {
                Some(rule) => successes(rule, state),
                None => String::new(),
            }
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
    let mut common = first.len();
    for sentence in rest {
        common = common.min(common_words(first, sentence));
    }

    let mut text = first.clone();
    for sentence in rest.iter().take(SHOWN - 1) {
        text.push_str(", ");
        text.push_str(&sentence[common..]);
    }
    if rest.len() >= SHOWN {
        let more = rest.len() + 1 - SHOWN;
        text = format!("{text} and {more} more");
    }
    Some(text)
}

/// How many bytes of whole words two sentences have in common at their start.
fn common_words(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let mut words = a.as_bytes()[..same].iter();
    match words.rposition(|byte| *byte == b' ') {
        Some(space) => space + 1,
        None => 0,
    }
}
