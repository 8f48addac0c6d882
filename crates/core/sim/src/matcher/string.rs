//! `type.matcher.v3.StringMatcher`.

use super::unmodelled;
use crate::Tri;
use meshladder_text::json::Raw;
use meshladder_text::regex::Regex;

/// A compiled string matcher.
#[derive(Clone, Debug)]
pub struct StringMatcher {
    pattern: StringPattern,
    ignore_case: bool,
}

#[derive(Clone, Debug)]
enum StringPattern {
    Exact(Box<str>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Contains(Box<str>),
    Regex(Regex),
    Unmodelled(Box<str>),
}

impl StringMatcher {
    /// Compiles a `StringMatcher`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let mut matcher = Self::unmodelled("an empty string matcher");
        for (key, value) in raw.members() {
            let text = || value.string().unwrap_or_default().into();
            match &*key {
                "exact" => matcher.pattern = StringPattern::Exact(text()),
                "prefix" => matcher.pattern = StringPattern::Prefix(text()),
                "suffix" => matcher.pattern = StringPattern::Suffix(text()),
                "contains" => matcher.pattern = StringPattern::Contains(text()),
                "safe_regex" => matcher.pattern = StringPattern::Regex(regex(value)),
                "ignore_case" => matcher.ignore_case = value.bool().unwrap_or_default(),
                "custom" => {
                    let name = value.string_at("name").unwrap_or_default();
                    matcher.pattern = StringPattern::Unmodelled(unmodelled(&format!(
                        "the string matcher `{name}`"
                    )));
                }
                other => {
                    matcher.pattern = StringPattern::Unmodelled(unmodelled(&format!(
                        "a string matcher's `{other}`"
                    )))
                }
            }
        }
        matcher
    }

    /// Equality.
    pub fn exact(text: &str) -> Self {
        Self {
            pattern: StringPattern::Exact(text.into()),
            ignore_case: false,
        }
    }

    /// A prefix.
    pub fn prefix(text: &str) -> Self {
        Self {
            pattern: StringPattern::Prefix(text.into()),
            ignore_case: false,
        }
    }

    /// A suffix.
    pub fn suffix(text: &str) -> Self {
        Self {
            pattern: StringPattern::Suffix(text.into()),
            ignore_case: false,
        }
    }

    /// Some text inside.
    pub fn contains(text: &str) -> Self {
        Self {
            pattern: StringPattern::Contains(text.into()),
            ignore_case: false,
        }
    }

    /// A regular expression for the whole value.
    pub fn regex(pattern: &str) -> Self {
        Self {
            pattern: StringPattern::Regex(Regex::full(pattern)),
            ignore_case: false,
        }
    }

    pub(super) fn of_regex(regex: Regex) -> Self {
        Self {
            pattern: StringPattern::Regex(regex),
            ignore_case: false,
        }
    }

    pub(super) fn unmodelled(what: &str) -> Self {
        Self {
            pattern: StringPattern::Unmodelled(unmodelled(what)),
            ignore_case: false,
        }
    }

    /// The same without regard to ASCII case: "This has no effect for the `safe_regex` match".
    #[must_use]
    pub fn ignoring_case(mut self, ignore_case: bool) -> Self {
        self.ignore_case = ignore_case;
        self
    }

    /// Whether the value matches.
    pub fn matches(&self, value: &str) -> Tri {
        let (bytes, same) = (value.as_bytes(), self.ignore_case);
        match &self.pattern {
            StringPattern::Exact(text) => equal(bytes, text.as_bytes(), same).into(),
            StringPattern::Prefix(text) => starts_with(bytes, text.as_bytes(), same).into(),
            StringPattern::Suffix(text) => ends_with(bytes, text.as_bytes(), same).into(),
            StringPattern::Contains(text) => contains(bytes, text.as_bytes(), same).into(),
            StringPattern::Regex(regex) => regex.matches(value),
            StringPattern::Unmodelled(fact) => Tri::Unknown(fact.clone()),
        }
    }

    /// What the value does, in words: ``starts with `/api` ``, ``is not `v1` ``.
    pub fn verb(&self, matches: bool) -> String {
        let (yes, no, text) = match &self.pattern {
            StringPattern::Exact(text) => ("is", "is not", &**text),
            StringPattern::Prefix(text) => ("starts with", "does not start with", &**text),
            StringPattern::Suffix(text) => ("ends with", "does not end with", &**text),
            StringPattern::Contains(text) => ("contains", "does not contain", &**text),
            StringPattern::Regex(regex) => ("matches", "does not match", regex.pattern()),
            StringPattern::Unmodelled(fact) => return fact.to_string(),
        };
        let case = if self.ignore_case && !matches!(self.pattern, StringPattern::Regex(_)) {
            " in any case"
        } else {
            ""
        };
        format!("{} `{text}`{case}", if matches { yes } else { no })
    }
}

/// `type.matcher.v3.RegexMatcher`: its engine can only be RE2.
pub(super) fn regex(raw: Raw<'_>) -> Regex {
    Regex::full(&raw.string_at("regex").unwrap_or_default())
}

pub(super) fn equal(a: &[u8], b: &[u8], ignore_case: bool) -> bool {
    if ignore_case {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

pub(super) fn starts_with(value: &[u8], prefix: &[u8], ignore_case: bool) -> bool {
    value
        .get(..prefix.len())
        .is_some_and(|head| equal(head, prefix, ignore_case))
}

fn ends_with(value: &[u8], suffix: &[u8], ignore_case: bool) -> bool {
    let start = value.len().checked_sub(suffix.len());
    start.is_some_and(|start| equal(&value[start..], suffix, ignore_case))
}

fn contains(value: &[u8], text: &[u8], ignore_case: bool) -> bool {
    text.is_empty()
        || value
            .windows(text.len())
            .any(|window| equal(window, text, ignore_case))
}
