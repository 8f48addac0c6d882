//! `type.matcher.v3.StringMatcher`.

use super::unmodelled;
use crate::{Tri, message};
use meshladder_capture::snapshot::redacted_part;
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
    /// A value of which a part was redacted: what stood before and behind that, and whether the
    /// whole is to be equal.
    Redacted(Box<str>, Box<str>),
    Unmodelled(Box<str>),
}

/// The fact that is missing where a value was redacted.
const REDACTED: &str = "the value it is compared with, which was redacted";

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
        Self::of(StringPattern::exact(text))
    }

    /// A prefix.
    pub fn prefix(text: &str) -> Self {
        Self::of(StringPattern::prefix(text))
    }

    /// A suffix.
    pub fn suffix(text: &str) -> Self {
        Self::of(StringPattern::inside(text, StringPattern::Suffix))
    }

    /// Some text inside.
    pub fn contains(text: &str) -> Self {
        Self::of(StringPattern::inside(text, StringPattern::Contains))
    }

    /// A regular expression for the whole value.
    pub fn regex(pattern: &str) -> Self {
        Self::of_regex(Regex::full(pattern))
    }

    pub(super) fn of_regex(regex: Regex) -> Self {
        Self::of(StringPattern::regex(regex))
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
        if redacted_part(value).is_some() {
            return Tri::unknown("a value of the request, which was redacted");
        }
        match &self.pattern {
            StringPattern::Redacted(before, behind) => {
                let fits = starts_with(bytes, before.as_bytes(), same)
                    && ends_with(bytes, behind.as_bytes(), same);
                if fits {
                    Tri::unknown(REDACTED)
                } else {
                    Tri::No
                }
            }
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
            StringPattern::Redacted(..) => {
                return format!("cannot be compared without {REDACTED}");
            }
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
    fn exact(text: &str) -> Self {
        match redacted_part(text) {
            Some(part) => Self::Redacted(text[..part.start].into(), text[part.end..].into()),
            None => Self::Exact(text.into()),
        }
    }

    fn prefix(text: &str) -> Self {
        match redacted_part(text) {
            Some(part) => Self::Redacted(text[..part.start].into(), Box::default()),
            None => Self::Prefix(text.into()),
        }
    }

    fn inside(text: &str, pattern: fn(Box<str>) -> Self) -> Self {
        match redacted_part(text) {
            Some(_) => Self::Redacted(Box::default(), Box::default()),
            None => pattern(text.into()),
        }
    }

    /// `[redacted]` is also a set of letters, which nobody writes.
    fn regex(regex: Regex) -> Self {
        if regex.pattern().contains("[redacted]") {
            Self::Redacted(Box::default(), Box::default())
        } else {
            Self::Regex(regex)
        }
    }

    fn compile(key: &str, value: Raw<'_>) -> Self {
        let text = value.string().unwrap_or_default();
        match key {
            "exact" => Self::exact(&text),
            "prefix" => Self::prefix(&text),
            "suffix" => Self::inside(&text, Self::Suffix),
            "contains" => Self::inside(&text, Self::Contains),
            "safe_regex" => Self::regex(regex(value)),
            "custom" => {
                let name = message::text(value, "name");
                Self::Unmodelled(unmodelled(&format!("the string matcher `{name}`")))
            }
            other => Self::Unmodelled(unmodelled(&format!("a string matcher's `{other}`"))),
        }
    }
}
