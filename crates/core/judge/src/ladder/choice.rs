//! Which rules `analyze` runs: chosen by code, by name, or by the start of a code.

use crate::finding::Finding;
use crate::rules::{self, CODES, Rule, retired};

/// Some of the rules.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only these; none means all.
    select: Vec<String>,
    /// But not these.
    ignore: Vec<String>,
}

impl Choice {
    /// Words name a rule by its code, its name or another tool's code, or several by the start of
    /// their codes: `ML21`.
    ///
    /// # Errors
    /// The first word that names no rule of `analyze`.
    pub fn new(select: &[String], ignore: &[String]) -> Result<Self, String> {
        let is_of = |rule: &Rule, word: &str| {
            let mut ists = rule.ists().map(Some).chain([None]);
            rule.is_of_objects() && ists.any(|ist| is_named(rule, ist, word))
        };
        let unknown = |word: &&String| !rules::all().any(|rule| is_of(rule, word));
        match select.iter().chain(ignore).find(unknown) {
            Some(word) => Err(format!("no rule of analyze is called `{word}`")),
            None => Ok(Self {
                select: select.to_vec(),
                ignore: ignore.to_vec(),
            }),
        }
    }

    /// Whether the rule is run: one of its findings may be told.
    pub(super) fn has(&self, rule: &Rule) -> bool {
        let mut ists = rule.ists().map(Some).peekable();
        match ists.peek() {
            None => self.passes(rule, None),
            Some(_) => ists.any(|ist| self.passes(rule, ist)),
        }
    }

    /// Whether a finding is told: of a rule that istioctl has several codes for, some may be left
    /// out.
    pub(super) fn tells(&self, finding: &Finding) -> bool {
        rules::named(finding.code).is_none_or(|rule| self.passes(rule, finding.ist))
    }

    fn passes(&self, rule: &Rule, ist: Option<&str>) -> bool {
        let any = |words: &[String]| words.iter().any(|word| is_named(rule, ist, word));
        (self.select.is_empty() || any(&self.select)) && !any(&self.ignore)
    }
}

/// Whether there is such a code, ours or another tool's, or such a rule.
pub fn is_known(word: &str) -> bool {
    CODES
        .iter()
        .any(|code| code.code.eq_ignore_ascii_case(word))
        || rules::named(word).is_some()
}

/// The codes of a finding: ours, those that were given up for it, and other tools'.
pub(super) fn codes(finding: &Finding) -> impl Iterator<Item = &'static str> {
    rules::named(finding.code)
        .into_iter()
        .flat_map(|rule| codes_of(rule, finding.ist))
}

/// Of istioctl's codes only the one that is meant, where a rule has several.
fn codes_of(rule: &Rule, ist: Option<&str>) -> impl Iterator<Item = &'static str> {
    let foreign = rule.aka.iter().copied();
    let foreign = foreign.filter(move |aka| !aka.starts_with("IST") || ist == Some(aka));
    let old = retired::of(rule).map(|old| old.code);
    std::iter::once(rule.code).chain(old).chain(foreign)
}

fn is_named(rule: &Rule, ist: Option<&str>, word: &str) -> bool {
    let starts = |code: &str| {
        code.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let is_called = rule.name.eq_ignore_ascii_case(word)
        || retired::of(rule).any(|old| old.name.eq_ignore_ascii_case(word));
    !word.is_empty() && (is_called || codes_of(rule, ist).any(starts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(select: &[&str], ignore: &[&str]) -> Vec<&'static str> {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let choice = Choice::new(&words(select), &words(ignore)).expect("all are known");
        rules::all()
            .filter(|rule| rule.is_of_objects() && choice.has(rule))
            .map(|rule| rule.code)
            .collect()
    }

    #[test]
    fn a_rule_is_chosen_by_its_code_its_name_another_tools_code_or_the_start_of_one() {
        for word in ["ML2101", "ml2101", "tls-without-ca", "IST0128"] {
            assert_eq!(codes(&[word], &[]), ["ML2101"], "{word}");
        }
        assert!(
            codes(&["ML28"], &[])
                .iter()
                .all(|code| code.starts_with("ML28") || code.starts_with("ML03"))
        );
        assert!(codes(&["ML21", "ML25"], &["ML2101"]).contains(&"ML2501"));
        assert!(!codes(&["ML21"], &["IST0128"]).contains(&"ML2101"));
        assert!(
            codes(&[], &["IST"])
                .iter()
                .all(|code| rules::named(code).is_some_and(|rule| rule.ist().is_none()))
        );
    }

    #[test]
    fn a_code_that_was_given_up_chooses_the_rule_that_took_it_over() {
        for word in ["ML2201", "ml2201", "selector-finds-no-pod"] {
            assert_eq!(codes(&[word], &[]), ["ML0507"], "{word}");
            assert!(!codes(&[], &[word]).contains(&"ML0507"), "{word}");
        }
        assert!(codes(&["ML22"], &[]).contains(&"ML0507"));
    }

    #[test]
    fn a_rule_with_two_of_istioctls_codes_is_run_for_the_one_that_is_left() {
        assert!(codes(&[], &["IST0101"]).contains(&"ML0801"));
        assert!(!codes(&[], &["IST0101", "IST0161"]).contains(&"ML0801"));
    }

    #[test]
    fn a_word_that_names_no_rule_of_analyze_is_told() {
        for word in ["ML9999", "tls", "", "ML0503"] {
            assert!(Choice::new(&[], &[word.to_owned()]).is_err(), "{word}");
        }
    }
}
