//! Codes that are no longer used: each claim has one code, and those that had two gave one up.
//!
//! An old code still leads to the rule that took it over, in `explain`, in suppressions and in
//! `--select` and `--ignore`; no finding carries it any more, and no new rule may have it.

use super::Rule;

/// A code that was given up.
#[derive(Clone, Copy, Debug)]
pub struct Retired {
    /// The old code.
    pub code: &'static str,
    /// The name that the rule had under it.
    pub name: &'static str,
    /// The code of the rule that makes the claim now.
    pub into: &'static str,
    /// The version since which it does.
    pub since: &'static str,
}

impl Retired {
    /// Whether it is this code or name, in any case.
    pub fn is(&self, text: &str) -> bool {
        self.code.eq_ignore_ascii_case(text) || self.name.eq_ignore_ascii_case(text)
    }

    /// Where it went, in words.
    pub fn in_words(&self) -> String {
        let Self {
            code,
            name,
            into,
            since,
        } = self;
        format!("{code} ({name}) is part of {into} since {since}")
    }
}

/// The codes that a rule took over.
pub fn of(rule: &Rule) -> impl Iterator<Item = &'static Retired> {
    let into = rule.code;
    RETIRED.iter().filter(move |old| old.into == into)
}

const fn retired(code: &'static str, name: &'static str, into: &'static str) -> Retired {
    Retired {
        code,
        name,
        into,
        since: "0.2.0",
    }
}

/// All of them, by old code.
pub static RETIRED: &[Retired] = &[];
