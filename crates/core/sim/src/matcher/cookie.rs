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
                "invert_match" => cookie.invert_match = value.bool().unwrap_or_default(),
                other => {
                    cookie.matcher =
                        StringMatcher::unmodelled(&format!("a cookie matcher's `{other}`"))
                }
            }
        }
        cookie
    }

    /// Whether the request's cookies match. Without the cookie there is no match, and so one when
    /// inverted.
    pub fn matches(&self, request: &Request) -> Tri {
        let matched =
            cookie(request, &self.name).map_or(Tri::No, |value| self.matcher.matches(value));
        if self.invert_match {
            matched.negate()
        } else {
            matched
        }
    }

    /// What decided, in words: `cookie session is absent`.
    pub fn why(&self, request: &Request) -> String {
        let name = &self.name;
        cookie(request, name).map_or_else(
            || format!("cookie {name} is absent"),
            |value| {
                format!(
                    "cookie {name} `{value}` {}",
                    self.matcher.verb(self.matcher.matches(value) == Tri::Yes)
                )
            },
        )
    }
}

/// The first cookie of that name.
pub(crate) fn cookie<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let cookies = request.values("cookie").flat_map(|line| line.split(';'));
    let mut pairs = cookies.filter_map(|pair| pair.trim_start().split_once('='));
    let value = pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)?;
    Some(
        value
            .strip_prefix('"')
            .and_then(|inner| inner.strip_suffix('"'))
            .unwrap_or(value),
    )
}
