//! The path specifiers of `config.route.v3.RouteMatch`.

use super::{UriTemplate, string, unmodelled};
use crate::Tri;
use meshladder_text::json::Raw;
use meshladder_text::regex::Regex;

/// A compiled path specifier.
#[derive(Clone, Debug)]
pub enum PathMatch {
    /// `prefix`, and whether case is ignored.
    Prefix(Box<str>, bool),
    /// `path`, and whether case is ignored.
    Path(Box<str>, bool),
    /// `path_separated_prefix`, and whether case is ignored.
    SeparatedPrefix(Box<str>, bool),
    /// `safe_regex`
    Regex(Regex),
    /// `path_match_policy` with a URI template.
    Template(UriTemplate),
    /// `connect_matcher`
    Connect,
    /// Another one: the fact that is missing.
    Unmodelled(Box<str>),
}

impl PathMatch {
    /// Compiles the member of a `RouteMatch` when it is a path specifier.
    pub fn compile(key: &str, value: Raw<'_>) -> Option<Self> {
        let text = || value.string().unwrap_or_default().into();
        Some(match key {
            "prefix" => Self::Prefix(text(), false),
            "path" => Self::Path(text(), false),
            "path_separated_prefix" => Self::SeparatedPrefix(text(), false),
            "safe_regex" => Self::Regex(string::regex(value)),
            "connect_matcher" => Self::Connect,
            "path_match_policy" => Self::policy(value),
            _ => return None,
        })
    }

    fn policy(value: Raw<'_>) -> Self {
        let config = value.get("typed_config");
        if let Some(template) = config.and_then(|config| config.string_at("path_template")) {
            return Self::Template(UriTemplate::compile(&template));
        }
        let name = value.string_at("name").unwrap_or_default();
        Self::Unmodelled(unmodelled(&format!("the path match policy `{name}`")))
    }

    /// `case_sensitive: false`: "Indicates that prefix/path matching should be case sensitive …
    /// Ignored for `safe_regex` matching".
    #[must_use]
    pub fn ignoring_case(self) -> Self {
        match self {
            Self::Prefix(text, _) => Self::Prefix(text, true),
            Self::Path(text, _) => Self::Path(text, true),
            Self::SeparatedPrefix(text, _) => Self::SeparatedPrefix(text, true),
            other => other,
        }
    }

    /// Whether a path matches that has lost its query and fragment
    /// ([`without_query_and_fragment`]).
    pub fn matches(&self, path: &str) -> Tri {
        let bytes = path.as_bytes();
        match self {
            Self::Prefix(text, ignore) => {
                string::starts_with(bytes, text.as_bytes(), *ignore).into()
            }
            Self::Path(text, ignore) => string::equal(bytes, text.as_bytes(), *ignore).into(),
            // "the path is equal to the prefix, or the prefix is followed by a /".
            Self::SeparatedPrefix(text, ignore) => {
                let ends = matches!(bytes.get(text.len()), None | Some(b'/'));
                (ends && string::starts_with(bytes, text.as_bytes(), *ignore)).into()
            }
            Self::Regex(regex) => regex.matches(path),
            Self::Template(template) => template.matches(path),
            Self::Connect => Tri::No,
            Self::Unmodelled(fact) => Tri::Unknown(fact.clone()),
        }
    }

    /// The specifier as a user would name it: `prefix /api`.
    pub fn describe(&self) -> String {
        let (kind, text, ignore) = match self {
            Self::Prefix(text, ignore) => ("prefix", &**text, *ignore),
            Self::Path(text, ignore) => ("path", &**text, *ignore),
            Self::SeparatedPrefix(text, ignore) => ("path_separated_prefix", &**text, *ignore),
            Self::Regex(regex) => ("safe_regex", regex.pattern(), false),
            Self::Template(template) => ("template", template.source(), false),
            Self::Connect => return "connect_matcher".to_owned(),
            Self::Unmodelled(_) => return "path_match_policy".to_owned(),
        };
        format!("{kind} {text}{}", if ignore { " in any case" } else { "" })
    }

    /// What decided, in words: ``path `/a` does not start with `/api` ``.
    pub fn why(&self, path: &str) -> String {
        let matches = self.matches(path) == Tri::Yes;
        let (yes, no, text) = match self {
            Self::Prefix(text, _) => ("starts with", "does not start with", &**text),
            Self::Path(text, _) => ("is", "is not", &**text),
            Self::SeparatedPrefix(text, _) => ("is at or below", "is not at or below", &**text),
            Self::Regex(regex) => ("matches", "does not match", regex.pattern()),
            Self::Template(template) => ("fits", "does not fit", template.source()),
            Self::Connect => return "only CONNECT matches".to_owned(),
            Self::Unmodelled(fact) => return fact.to_string(),
        };
        format!("path `{path}` {} `{text}`", if matches { yes } else { no })
    }
}

/// The path as matchers see it: "query string and fragment are removed".
pub fn without_query_and_fragment(path: &str) -> &str {
    path.find(['?', '#']).map_or(path, |end| &path[..end])
}
