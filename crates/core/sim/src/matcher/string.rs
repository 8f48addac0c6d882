//! `type.matcher.v3.StringMatcher`.

use super::unmodelled;
use crate::{Tri, message};
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
            match &*key {
                "ignore_case" => matcher.ignore_case = value.bool() == Some(true),
                other => matcher.pattern = StringPattern::compile(other, value),
            }
        }
        matcher
    }

    /// Equality.
    pub fn exact(text: &str) -> Self {
        Self::of(StringPattern::Exact(text.into()))
    }

    /// A prefix.
    pub fn prefix(text: &str) -> Self {
        Self::of(StringPattern::Prefix(text.into()))
    }

    /// A suffix.
    pub fn suffix(text: &str) -> Self {
        Self::of(StringPattern::Suffix(text.into()))
    }

    /// Some text inside.
    pub fn contains(text: &str) -> Self {
        Self::of(StringPattern::Contains(text.into()))
    }

    /// A regular expression for the whole value.
    pub fn regex(pattern: &str) -> Self {
        Self::of_regex(Regex::full(pattern))
    }

    pub(super) fn of_regex(regex: Regex) -> Self {
        Self::of(StringPattern::Regex(regex))
    }

    pub(super) fn unmodelled(what: &str) -> Self {
        Self::of(StringPattern::Unmodelled(unmodelled(what)))
    }

    fn of(pattern: StringPattern) -> Self {
        Self {
            pattern,
            ignore_case: false,
        }
    }

    /// A matcher without regard to ASCII case: "This has no effect for the `safe_regex` match".
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
            // The whole value must match.
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
        let verb = if matches { yes } else { no };
        let is_regex = matches!(self.pattern, StringPattern::Regex(_));
        if self.ignore_case && !is_regex {
            return format!("{verb} `{text}` in any case");
        }
        format!("{verb} `{text}`")
    }
}

/// `type.matcher.v3.RegexMatcher`: its engine can only be RE2.
pub(super) fn regex(raw: Raw<'_>) -> Regex {
    Regex::full(&message::text(raw, "regex"))
}

pub(super) fn equal(a: &[u8], b: &[u8], ignore_case: bool) -> bool {
    if ignore_case {
        return a.eq_ignore_ascii_case(b);
    }
    a == b
}

pub(super) fn starts_with(value: &[u8], prefix: &[u8], ignore_case: bool) -> bool {
    match value.get(..prefix.len()) {
        Some(head) => equal(head, prefix, ignore_case),
        None => false,
    }
}

fn ends_with(value: &[u8], suffix: &[u8], ignore_case: bool) -> bool {
    match value.len().checked_sub(suffix.len()) {
        Some(start) => equal(&value[start..], suffix, ignore_case),
        None => false,
    }
}

fn contains(value: &[u8], text: &[u8], ignore_case: bool) -> bool {
    // There are no windows of length zero.
    if text.is_empty() {
        return true;
    }
    let mut windows = value.windows(text.len());
    windows.any(|window| equal(window, text, ignore_case))
}

impl StringPattern {
    fn compile(key: &str, value: Raw<'_>) -> Self {
        let text = value.string().unwrap_or_default();
        match key {
            "exact" => Self::Exact(text.into()),
            "prefix" => Self::Prefix(text.into()),
            "suffix" => Self::Suffix(text.into()),
            "contains" => Self::Contains(text.into()),
            "safe_regex" => Self::Regex(regex(value)),
            "custom" => {
                let name = message::text(value, "name");
                Self::Unmodelled(unmodelled(&format!("the string matcher `{name}`")))
            }
            other => Self::Unmodelled(unmodelled(&format!("a string matcher's `{other}`"))),
        }
    }
}
