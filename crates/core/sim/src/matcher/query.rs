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
                "present_match" => {
                    matcher.specifier = QuerySpecifier::Present(value.bool().unwrap_or_default())
                }
                "string_match" => {
                    matcher.specifier = QuerySpecifier::String(StringMatcher::compile(value))
                }
                other => {
                    let fact = unmodelled(&format!("a query parameter's `{other}`"));
                    matcher.specifier = QuerySpecifier::Unmodelled(fact);
                }
            }
        }
        matcher
    }

    /// Whether a path, query included, matches.
    pub fn matches(&self, path: &str) -> Tri {
        let value = query_parameter(path, &self.name);
        match &self.specifier {
            QuerySpecifier::Present(present) => (value.is_some() == *present).into(),
            QuerySpecifier::String(matcher) => {
                value.map_or(Tri::No, |value| matcher.matches(value))
            }
            QuerySpecifier::Unmodelled(fact) => Tri::Unknown(fact.clone()),
        }
    }

    /// What decided, in words: `query parameter v is absent`.
    pub fn why(&self, path: &str) -> String {
        let name = &self.name;
        match (query_parameter(path, name), &self.specifier) {
            (None, _) => format!("query parameter {name} is absent"),
            (Some(value), QuerySpecifier::String(matcher)) => {
                format!(
                    "query parameter {name} `{value}` {}",
                    matcher.verb(matcher.matches(value) == Tri::Yes)
                )
            }
            (Some(_), _) => format!("query parameter {name} is present"),
        }
    }
}

/// The first value of a parameter in a path's query, as it stands there; empty without `=`.
pub fn query_parameter<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let (_, query) = path.split_once('?')?;
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let mut parameters = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    parameters
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}
