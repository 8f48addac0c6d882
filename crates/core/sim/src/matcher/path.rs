//! The path specifiers of `config.route.v3.RouteMatch`.

use super::{UriTemplate, string, unmodelled};
use crate::{Tri, message};
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
        let text = value.string().unwrap_or_default();
        match key {
            "prefix" => Some(Self::Prefix(text.into(), false)),
            "path" => Some(Self::Path(text.into(), false)),
            "path_separated_prefix" => Some(Self::SeparatedPrefix(text.into(), false)),
            "safe_regex" => Some(Self::Regex(string::regex(value))),
            "connect_matcher" => Some(Self::Connect),
            "path_match_policy" => Some(Self::policy(value)),
            _ => None,
        }
    }

    fn policy(value: Raw<'_>) -> Self {
        let template = value.at(["typed_config", "path_template"]);
        if let Some(template) = template.and_then(Raw::string) {
            return Self::Template(UriTemplate::compile(&template));
        }
        let name = message::text(value, "name");
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
            // "The prefix must match the beginning of the :path header."
            Self::Prefix(text, ignore) => {
                string::starts_with(bytes, text.as_bytes(), *ignore).into()
            }
            // "The path must exactly match the :path header once the query string is removed."
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
        let (kind, text, ignores_case) = match self {
            Self::Prefix(text, ignore) => ("prefix", &**text, *ignore),
            Self::Path(text, ignore) => ("path", &**text, *ignore),
            Self::SeparatedPrefix(text, ignore) => ("path_separated_prefix", &**text, *ignore),
            Self::Regex(regex) => ("safe_regex", regex.pattern(), false),
            Self::Template(template) => ("template", template.source(), false),
            Self::Connect => return "connect_matcher".to_owned(),
            Self::Unmodelled(_) => return "path_match_policy".to_owned(),
        };
        let case = if ignores_case { " in any case" } else { "" };
        format!("{kind} {text}{case}")
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
    match path.find(['?', '#']) {
        Some(end) => &path[..end],
        None => path,
    }
}
