//! `config.route.v3.QueryParameterMatcher`.

use super::{StringMatcher, unmodelled};
use crate::Tri;
use meshladder_text::json::Raw;

/// A compiled query parameter matcher.
#[derive(Clone, Debug)]
pub struct QueryParameterMatcher {
    /// The parameter's name; its case matters.
    pub name: Box<str>,
    /// Where it stands in the dump.
    pub at: usize,
    specifier: QuerySpecifier,
}

#[derive(Clone, Debug)]
enum QuerySpecifier {
    Present(bool),
    String(StringMatcher),
    Unmodelled(Box<str>),
}

impl QueryParameterMatcher {
    /// Compiles a `QueryParameterMatcher`; without a specifier the parameter must be there.
    pub fn compile(raw: Raw<'_>) -> Self {
        let mut matcher = Self {
            name: Box::default(),
            at: raw.offset(),
            specifier: QuerySpecifier::Present(true),
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => matcher.name = value.string().unwrap_or_default().into(),
                other => matcher.specifier = QuerySpecifier::compile(other, value),
            }
        }
        matcher
    }

    /// Whether a path, query included, matches.
    pub fn matches(&self, path: &str) -> Tri {
        match (&self.specifier, query_parameter(path, &self.name)) {
            (QuerySpecifier::Present(present), value) => (value.is_some() == *present).into(),
            (QuerySpecifier::String(matcher), Some(value)) => matcher.matches(value),
            // Text is only compared with a parameter that is there.
            (QuerySpecifier::String(_), None) => Tri::No,
            (QuerySpecifier::Unmodelled(fact), _) => Tri::Unknown(fact.clone()),
        }
    }

    /// What decided, in words: `query parameter v is absent`.
    pub fn why(&self, path: &str) -> String {
        let name = &self.name;
        let Some(value) = query_parameter(path, name) else {
            return format!("query parameter {name} is absent");
        };
        let QuerySpecifier::String(matcher) = &self.specifier else {
            return format!("query parameter {name} is present");
        };
        let matched = matcher.matches(value) == Tri::Yes;
        format!("query parameter {name} `{value}` {}", matcher.verb(matched))
    }
}

/// The first value of a parameter in a path's query, as it stands there; empty without `=`.
pub fn query_parameter<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let (_, query) = path.split_once('?')?;
    let query = match query.split_once('#') {
        Some((query, _)) => query,
        None => query,
    };
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key == name {
            return Some(value);
        }
    }
    None
}

impl QuerySpecifier {
    fn compile(key: &str, value: Raw<'_>) -> Self {
        match key {
            "present_match" => Self::Present(value.bool() == Some(true)),
            "string_match" => Self::String(StringMatcher::compile(value)),
            other => Self::Unmodelled(unmodelled(&format!("a query parameter's `{other}`"))),
        }
    }
}
