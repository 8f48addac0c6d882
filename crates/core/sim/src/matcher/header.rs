//! `config.route.v3.HeaderMatcher`.

use super::{StringMatcher, string};
use crate::{Request, Tri};
use meshladder_capture::snapshot::shown_value;
use meshladder_text::json::Raw;

/// A compiled header matcher.
#[derive(Clone, Debug)]
pub struct HeaderMatcher {
    /// The header's name in lower case.
    pub name: Box<str>,
    /// Where it stands in the dump.
    pub at: usize,
    specifier: HeaderSpecifier,
    invert_match: bool,
    treat_missing_header_as_empty: bool,
}

#[derive(Clone, Debug)]
enum HeaderSpecifier {
    Present(bool),
    String(StringMatcher),
    /// "The entire request header value must represent an integer in base 10": start inclusive, end
    /// exclusive.
    Range(i64, i64),
}

impl HeaderMatcher {
    /// Compiles a `HeaderMatcher`. "If this … is not specified, the header matcher is a presence
    /// match".
    pub fn compile(raw: Raw<'_>) -> Self {
        let mut matcher = Self {
            name: Box::default(),
            at: raw.offset(),
            specifier: HeaderSpecifier::Present(true),
            invert_match: false,
            treat_missing_header_as_empty: false,
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => {
                    let name = value.string().unwrap_or_default();
                    matcher.name = name.to_ascii_lowercase().into();
                }
                "invert_match" => matcher.invert_match = value.bool() == Some(true),
                "treat_missing_header_as_empty" => {
                    matcher.treat_missing_header_as_empty = value.bool() == Some(true);
                }
                other => matcher.specifier = HeaderSpecifier::compile(other, value),
            }
        }
        matcher
    }

    /// Whether the request's headers match.
    pub fn matches(&self, request: &Request) -> Tri {
        // The values are looked at one by one, without a list of them.
        let mut values = request.values(&self.name).peekable();
        if values.peek().is_none() {
            return self.matches_missing(request);
        }
        // "If there are multiple values for the same header, each value is matched on its own": one
        // that matches will do, and none may when the match is inverted.
        self.inverted(Tri::any(values.map(|value| self.specifier.matches(value))))
    }

    /// A header that the request does not state: absent, unless clients and proxies add it on their
    /// own.
    fn matches_missing(&self, request: &Request) -> Tri {
        let absent = self.matches_absent();
        // A header that is treated as empty is present, whether it is there or not.
        let is_present_test = matches!(self.specifier, HeaderSpecifier::Present(_));
        if is_present_test && self.treat_missing_header_as_empty {
            return absent;
        }
        match request.missing(&self.name) {
            Some(fact) => Tri::Unknown(fact),
            None => absent,
        }
    }

    fn matches_absent(&self) -> Tri {
        match &self.specifier {
            // "If set to true, and the header is missing, it is treated as an empty value".
            specifier if self.treat_missing_header_as_empty => self.inverted(specifier.matches("")),
            // "If specified as false, header match will be performed based on whether the header is
            // absent."
            HeaderSpecifier::Present(present) => self.inverted((!present).into()),
            // "the match rule … will not match if the header is not present", inverted or not.
            _ => Tri::No,
        }
    }

    fn inverted(&self, matched: Tri) -> Tri {
        // "If specified, the match result will be inverted before checking."
        if self.invert_match {
            return matched.negate();
        }
        matched
    }

    /// What decided, in words: `header x-canary is absent`.
    pub fn why(&self, request: &Request) -> String {
        let name = &self.name;
        let mut values = request.values(name).peekable();
        let Some(&first) = values.peek() else {
            return match request.missing(name) {
                Some(_) => format!("header {name} is not stated"),
                None => format!("header {name} is absent"),
            };
        };
        if let HeaderSpecifier::Present(_) = self.specifier {
            return format!("header {name} is present");
        }
        // Of several values, the one that matches is the one to name.
        let matching = values.find(|value| self.specifier.matches(value) == Tri::Yes);
        let value = matching.unwrap_or(first);
        let told = shown_value(name, value);
        format!("header {name} `{told}` {}", self.specifier.verb(value))
    }
}

impl HeaderSpecifier {
    fn compile(key: &str, value: Raw<'_>) -> Self {
        let text = value.string().unwrap_or_default();
        let matcher = match key {
            "present_match" => return Self::Present(value.bool() == Some(true)),
            "range_match" => return Self::Range(bound(value, "start"), bound(value, "end")),
            "string_match" => StringMatcher::compile(value),
            // The deprecated forms. An empty text matches every value, also in `exact_match`.
            "exact_match" if text.is_empty() => StringMatcher::prefix(""),
            "exact_match" => StringMatcher::exact(&text),
            "prefix_match" => StringMatcher::prefix(&text),
            "suffix_match" => StringMatcher::suffix(&text),
            "contains_match" => StringMatcher::contains(&text),
            "safe_regex_match" => StringMatcher::of_regex(string::regex(value)),
            other => StringMatcher::unmodelled(&format!("a header matcher's `{other}`")),
        };
        Self::String(matcher)
    }

    fn matches(&self, value: &str) -> Tri {
        match self {
            Self::Present(present) => (*present).into(),
            Self::String(matcher) => matcher.matches(value),
            Self::Range(start, end) => match integer(value) {
                Some(number) => (*start..*end).contains(&number).into(),
                None => Tri::No,
            },
        }
    }

    fn verb(&self, value: &str) -> String {
        let is_match = self.matches(value) == Tri::Yes;
        match self {
            Self::Present(_) => "is present".to_owned(),
            Self::String(matcher) => matcher.verb(is_match),
            Self::Range(start, end) if is_match => format!("is in [{start}, {end})"),
            Self::Range(start, end) => format!("is not in [{start}, {end})"),
        }
    }
}

fn bound(range: Raw<'_>, key: &str) -> i64 {
    // Proto3 JSON writes 64-bit integers as strings.
    match range.get(key) {
        Some(number) => number.text().trim_matches('"').parse().unwrap_or_default(),
        None => 0,
    }
}

/// What Envoy takes for an integer: blanks around it and a sign are fine.
fn integer(value: &str) -> Option<i64> {
    value
        .trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
        .parse()
        .ok()
}
