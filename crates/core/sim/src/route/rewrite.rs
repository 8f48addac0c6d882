//! How a route changes path and host of what it forwards.

use std::borrow::Cow;

use super::{RouteBranch, RouteDecision, RouteEffect, RouteMatch};
use crate::Request;
use crate::matcher::{PathMatch, unmodelled, without_query_and_fragment};
use meshladder_text::json::Raw;
use meshladder_text::regex::Rewrite;

/// The rewrites of a `RouteAction`.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewrites {
    path: PathRewrite,
    host: HostRewrite,
}

/// At most one of the ways to rewrite a path.
#[derive(Clone, Debug, Default)]
pub(super) enum PathRewrite {
    #[default]
    None,
    Prefix(Box<str>),
    Regex(Rewrite),
    Unmodelled(Box<str>),
}

/// At most one of the ways to rewrite a host.
#[derive(Clone, Debug, Default)]
pub enum HostRewrite {
    /// It stays.
    #[default]
    None,
    /// `host_rewrite_literal`
    Literal(Box<str>),
    /// `auto_host_rewrite`: the host name of the endpoint, which is not chosen yet.
    Auto,
    /// `host_rewrite_header`, in lower case.
    Header(Box<str>),
    /// `host_rewrite_path_regex`
    PathRegex(Rewrite),
}

/// Path and host of what is forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedTarget {
    /// The path, or the fact that is missing to tell.
    pub path: Result<String, Box<str>>,
    /// The host, or the fact that is missing to tell.
    pub authority: Result<String, Box<str>>,
}

impl RouteDecision<'_, '_> {
    /// Path and host as they are forwarded to a branch of the target.
    pub fn rewritten(&self, branch: &RouteBranch<'_, '_>, request: &Request) -> ForwardedTarget {
        let RouteEffect::Route(action) = &self.route.action else {
            return ForwardedTarget {
                path: Ok(request.path.clone()),
                authority: Ok(request.authority.clone()),
            };
        };
        let path = action
            .rewrites
            .path
            .apply(&self.route.route_match, &request.path)
            .map(Cow::into_owned);
        let literal = branch
            .entry
            .map(|entry| &*entry.host_rewrite_literal)
            .filter(|literal| !literal.is_empty());
        let authority = action.rewrites.host.apply(request);
        let authority = authority
            .map(|host| host.unwrap_or_else(|| literal.unwrap_or(&request.authority).to_owned()));
        ForwardedTarget { path, authority }
    }
}

impl Rewrites {
    /// Takes in a member of a `RouteAction`; false when it is no rewrite.
    pub(super) fn read(&mut self, key: &str, value: Raw<'_>) -> bool {
        let text = || value.string().unwrap_or_default();
        self.host = match key {
            "host_rewrite_literal" => HostRewrite::Literal(text().into()),
            "auto_host_rewrite" if value.bool() == Some(true) => HostRewrite::Auto,
            "host_rewrite_header" => HostRewrite::Header(text().to_ascii_lowercase().into()),
            "host_rewrite_path_regex" => HostRewrite::PathRegex(regex(value)),
            _ => {
                let Some(path) = PathRewrite::compile(key, value) else {
                    return false;
                };
                self.path = path;
                return true;
            }
        };
        true
    }
}

impl PathRewrite {
    pub(super) fn compile(key: &str, value: Raw<'_>) -> Option<Self> {
        Some(match key {
            "prefix_rewrite" => match value.string().unwrap_or_default() {
                text if text.is_empty() => Self::None,
                text => Self::Prefix(text.into()),
            },
            "regex_rewrite" => Self::Regex(regex(value)),
            "path_rewrite_policy" => Self::Unmodelled(unmodelled("a path rewrite policy")),
            _ => return None,
        })
    }

    /// The path with its query, rewritten, or the fact that is missing to tell.
    pub(super) fn apply<'p>(
        &self,
        route_match: &RouteMatch,
        path: &'p str,
    ) -> Result<Cow<'p, str>, Box<str>> {
        let only = without_query_and_fragment(path);
        Ok(match self {
            Self::None => Cow::Borrowed(path),
            // "Indicates that during forwarding, the matched prefix (or path) should be swapped
            // with this value."
            Self::Prefix(new) => {
                let matched = match &route_match.path {
                    Some(
                        PathMatch::Prefix(text, _)
                        | PathMatch::Path(text, _)
                        | PathMatch::SeparatedPrefix(text, _),
                    ) => &**text,
                    _ => only,
                };
                // A path that matched without its parameters does not start with the prefix, and
                // stays.
                match path.get(..matched.len()) {
                    Some(head) if head.eq_ignore_ascii_case(matched) => {
                        Cow::Owned(format!("{new}{}", &path[matched.len()..]))
                    }
                    _ => Cow::Borrowed(path),
                }
            }
            Self::Regex(rewrite) => {
                let new = rewrite.apply(only).ok_or_else(|| {
                    unmodelled(&format!("regex_rewrite `{}`", rewrite.source().0))
                })?;
                // An empty path is a rewrite that failed: the path stays.
                if new.is_empty() {
                    Cow::Borrowed(path)
                } else {
                    Cow::Owned(format!("{new}{}", &path[only.len()..]))
                }
            }
            Self::Unmodelled(fact) => return Err(fact.clone()),
        })
    }
}

impl HostRewrite {
    /// The new host; none when it stays, and the fact that is missing when it cannot be told.
    fn apply(&self, request: &Request) -> Result<Option<String>, Box<str>> {
        Ok(match self {
            Self::None => None,
            Self::Literal(host) => Some(host.to_string()),
            Self::Auto => return Err("the host name of the endpoint".into()),
            Self::Header(name) => match (request.values(name).next(), request.missing(name)) {
                (None, Some(fact)) => return Err(fact),
                (value, _) => value.filter(|value| !value.is_empty()).map(str::to_owned),
            },
            Self::PathRegex(rewrite) => {
                let path = without_query_and_fragment(&request.path);
                let fact =
                    || unmodelled(&format!("host_rewrite_path_regex `{}`", rewrite.source().0));
                Some(rewrite.apply(path).ok_or_else(fact)?.into_owned())
            }
        })
    }
}

/// `type.matcher.v3.RegexMatchAndSubstitute`
fn regex(raw: Raw<'_>) -> Rewrite {
    let pattern = raw
        .at(["pattern", "regex"])
        .and_then(Raw::string)
        .unwrap_or_default();
    Rewrite::compile(&pattern, &raw.string_at("substitution").unwrap_or_default())
}
