//! `config.route.v3.HeaderMatcher`.

use super::{StringMatcher, string};
use crate::{Request, Tri};
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
                    matcher.name = value
                        .string()
                        .unwrap_or_default()
                        .to_ascii_lowercase()
                        .into()
                }
                "invert_match" => matcher.invert_match = value.bool().unwrap_or_default(),
                "treat_missing_header_as_empty" => {
                    matcher.treat_missing_header_as_empty = value.bool().unwrap_or_default();
                }
                other => matcher.specifier = HeaderSpecifier::compile(other, value),
            }
        }
        matcher
    }

    /// Whether the request's headers match.
    pub fn matches(&self, request: &Request) -> Tri {
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
        let (HeaderSpecifier::Present(_), true) =
            (&self.specifier, self.treat_missing_header_as_empty)
        else {
            return request.missing(&self.name).map_or(absent, Tri::Unknown);
        };
        absent
    }

    fn matches_absent(&self) -> Tri {
        match &self.specifier {
            // "If set to true, and the header is missing, it is treated as an empty value".
            specifier if self.treat_missing_header_as_empty => self.inverted(specifier.matches("")),
            HeaderSpecifier::Present(present) => self.inverted((!present).into()),
            // "the match rule … will not match if the header is not present", inverted or not.
            _ => Tri::No,
        }
    }

    fn inverted(&self, matched: Tri) -> Tri {
        if self.invert_match {
            matched.negate()
        } else {
            matched
        }
    }

    /// What decided, in words: `header x-canary is absent`.
    pub fn why(&self, request: &Request) -> String {
        let name = &self.name;
        let values: Vec<_> = request.values(name).collect();
        let Some(&first) = values.first() else {
            let stated = if request.missing(name).is_some() {
                "not stated"
            } else {
                "absent"
            };
            return format!("header {name} is {stated}");
        };
        let HeaderSpecifier::Present(_) = self.specifier else {
            let value = values
                .iter()
                .find(|value| self.specifier.matches(value) == Tri::Yes)
                .unwrap_or(&first);
            return format!("header {name} `{value}` {}", self.specifier.verb(value));
        };
        format!("header {name} is present")
    }
}

impl HeaderSpecifier {
    fn compile(key: &str, value: Raw<'_>) -> Self {
        let text = value.string().unwrap_or_default();
        Self::String(match key {
            "present_match" => return Self::Present(value.bool().unwrap_or_default()),
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
        })
    }

    fn matches(&self, value: &str) -> Tri {
        match self {
            Self::Present(present) => (*present).into(),
            Self::String(matcher) => matcher.matches(value),
            Self::Range(start, end) => integer(value)
                .is_some_and(|n| (*start..*end).contains(&n))
                .into(),
        }
    }

    fn verb(&self, value: &str) -> String {
        let is_match = self.matches(value) == Tri::Yes;
        match self {
            Self::Present(_) => "is present".to_owned(),
            Self::String(matcher) => matcher.verb(is_match),
            Self::Range(start, end) => format!(
                "is {}in [{start}, {end})",
                if is_match { "" } else { "not " }
            ),
        }
    }
}

fn bound(range: Raw<'_>, key: &str) -> i64 {
    // Proto3 JSON writes 64-bit integers as strings.
    range
        .get(key)
        .and_then(|n| n.text().trim_matches('"').parse().ok())
        .unwrap_or_default()
}

/// What Envoy takes for an integer: blanks around it and a sign are fine.
fn integer(value: &str) -> Option<i64> {
    value
        .trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
        .parse()
        .ok()
}
