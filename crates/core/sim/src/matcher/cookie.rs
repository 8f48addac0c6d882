//! `config.route.v3.CookieMatcher`.

use super::StringMatcher;
use crate::{Request, Tri};
use meshladder_text::json::Raw;

/// A compiled cookie matcher.
#[derive(Clone, Debug)]
pub struct CookieMatcher {
    /// The cookie's name; its case matters.
    pub name: Box<str>,
    /// Where it stands in the dump.
    pub at: usize,
    matcher: StringMatcher,
    invert_match: bool,
}

impl CookieMatcher {
    /// Compiles a `CookieMatcher`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let mut cookie = Self {
            name: Box::default(),
            at: raw.offset(),
            matcher: StringMatcher::unmodelled("a cookie matcher without `string_match`"),
            invert_match: false,
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => cookie.name = value.string().unwrap_or_default().into(),
                "string_match" => cookie.matcher = StringMatcher::compile(value),
                "invert_match" => cookie.invert_match = value.bool() == Some(true),
                other => {
                    let what = format!("a cookie matcher's `{other}`");
                    cookie.matcher = StringMatcher::unmodelled(&what);
                }
            }
        }
        cookie
    }

    /// Whether the request's cookies match. Without the cookie there is no match, and so one when
    /// inverted.
    pub fn matches(&self, request: &Request) -> Tri {
        let matched = match cookie(request, &self.name) {
            Some(value) => self.matcher.matches(value),
            None => Tri::No,
        };
        // A cookie that is not there did not match, so inverted it does.
        if self.invert_match {
            return matched.negate();
        }
        matched
    }

    /// What decided, in words: `cookie session is absent`.
    pub fn why(&self, request: &Request) -> String {
        let name = &self.name;
        let Some(value) = cookie(request, name) else {
            return format!("cookie {name} is absent");
        };
        let matched = self.matcher.matches(value) == Tri::Yes;
        format!("cookie {name} `{value}` {}", self.matcher.verb(matched))
    }
}

/// The first cookie of that name.
pub(crate) fn cookie<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    for line in request.values("cookie") {
        for pair in line.split(';') {
            if let Some((key, value)) = pair.trim_start().split_once('=')
                && key == name
            {
                return Some(without_quotes(value));
            }
        }
    }
    None
}

fn without_quotes(value: &str) -> &str {
    let Some(inner) = value.strip_prefix('"') else {
        return value;
    };
    inner.strip_suffix('"').unwrap_or(value)
}
