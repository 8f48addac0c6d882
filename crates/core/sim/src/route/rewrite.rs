//! How a route changes path and host of what it forwards.

use std::borrow::Cow;

use super::{RouteBranch, RouteDecision, RouteEffect, RouteMatch};
use crate::Request;
use crate::matcher::{PathMatch, unmodelled, without_query_and_fragment};
use crate::message;
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
            .apply(&self.route.route_match, &request.path);
        ForwardedTarget {
            path: path.map(Cow::into_owned),
            authority: authority(&action.rewrites.host, branch, request),
        }
    }
}

impl Rewrites {
    /// Takes in a member of a `RouteAction`; false when it is no rewrite.
    pub(super) fn read(&mut self, key: &str, value: Raw<'_>) -> bool {
        if let Some(host) = HostRewrite::compile(key, value) {
            self.host = host;
            return true;
        }
        if let Some(path) = PathRewrite::compile(key, value) {
            self.path = path;
            return true;
        }
        false
    }
}

impl PathRewrite {
    pub(super) fn compile(key: &str, value: Raw<'_>) -> Option<Self> {
        match key {
            "prefix_rewrite" => {
                let text = value.string().unwrap_or_default();
                if text.is_empty() {
                    return Some(Self::None);
                }
                Some(Self::Prefix(text.into()))
            }
            "regex_rewrite" => Some(Self::Regex(regex(value))),
            "path_rewrite_policy" => Some(Self::Unmodelled(unmodelled("a path rewrite policy"))),
            _ => None,
        }
    }

    /// The path with its query, rewritten, or the fact that is missing to tell.
    pub(super) fn apply<'p>(
        &self,
        route_match: &RouteMatch,
        path: &'p str,
    ) -> Result<Cow<'p, str>, Box<str>> {
        match self {
            Self::None => Ok(Cow::Borrowed(path)),
            Self::Prefix(new) => Ok(swap_prefix(new, route_match, path)),
            Self::Regex(rewrite) => rewrite_path(rewrite, path),
            Self::Unmodelled(fact) => Err(fact.clone()),
        }
    }
}

impl HostRewrite {
    /// Compiles the member of a `RouteAction` when it is a rewrite of the host.
    fn compile(key: &str, value: Raw<'_>) -> Option<Self> {
        let text = value.string().unwrap_or_default();
        match key {
            "host_rewrite_literal" => Some(Self::Literal(text.into())),
            "auto_host_rewrite" if value.bool() == Some(true) => Some(Self::Auto),
            "host_rewrite_header" => Some(Self::Header(text.to_ascii_lowercase().into())),
            "host_rewrite_path_regex" => Some(Self::PathRegex(regex(value))),
            _ => None,
        }
    }

    /// The new host; none when it stays, and the fact that is missing when it cannot be told.
    fn apply(&self, request: &Request) -> Result<Option<String>, Box<str>> {
        match self {
            Self::None => Ok(None),
            Self::Literal(host) => Ok(Some(host.to_string())),
            Self::Auto => Err("the host name of the endpoint".into()),
            Self::Header(name) => host_of_header(name, request),
            Self::PathRegex(rewrite) => {
                let path = without_query_and_fragment(&request.path);
                if let Some(host) = rewrite.apply(path) {
                    Ok(Some(host.into_owned()))
                } else {
                    let pattern = rewrite.source().0;
                    Err(unmodelled(&format!("host_rewrite_path_regex `{pattern}`")))
                }
            }
        }
    }
}

/// The host that is forwarded: a rewrite of the action, else the one of the weighted cluster.
fn authority(
    rewrite: &HostRewrite,
    branch: &RouteBranch<'_, '_>,
    request: &Request,
) -> Result<String, Box<str>> {
    if let Some(host) = rewrite.apply(request)? {
        return Ok(host);
    }
    match branch.entry {
        Some(entry) if !entry.host_rewrite_literal.is_empty() => {
            Ok(entry.host_rewrite_literal.to_string())
        }
        _ => Ok(request.authority.clone()),
    }
}

/// "The host header will be swapped with the content of given downstream or custom header. If header
/// value is empty, host header is left intact."
fn host_of_header(name: &str, request: &Request) -> Result<Option<String>, Box<str>> {
    match request.values(name).next() {
        Some("") => Ok(None),
        Some(value) => Ok(Some(value.to_owned())),
        None => match request.missing(name) {
            Some(fact) => Err(fact),
            None => Ok(None),
        },
    }
}

/// "Indicates that during forwarding, the matched prefix (or path) should be swapped with this
/// value."
fn swap_prefix<'p>(new: &str, route_match: &RouteMatch, path: &'p str) -> Cow<'p, str> {
    let matched = match &route_match.path {
        Some(
            PathMatch::Prefix(text, _)
            | PathMatch::Path(text, _)
            | PathMatch::SeparatedPrefix(text, _),
        ) => &**text,
        _ => without_query_and_fragment(path),
    };
    // A path that matched without its parameters does not start with the prefix, and stays.
    match path.get(..matched.len()) {
        Some(head) if head.eq_ignore_ascii_case(matched) => {
            Cow::Owned(format!("{new}{}", &path[matched.len()..]))
        }
        _ => Cow::Borrowed(path),
    }
}

/// "regex_rewrite: … portions of the path that match the pattern should be rewritten", without the
/// query, which is kept.
fn rewrite_path<'p>(rewrite: &Rewrite, path: &'p str) -> Result<Cow<'p, str>, Box<str>> {
    let only = without_query_and_fragment(path);
    let Some(new) = rewrite.apply(only) else {
        let pattern = rewrite.source().0;
        return Err(unmodelled(&format!("regex_rewrite `{pattern}`")));
    };
    // An empty path is a rewrite that failed: the path stays.
    if new.is_empty() {
        return Ok(Cow::Borrowed(path));
    }
    Ok(Cow::Owned(format!("{new}{}", &path[only.len()..])))
}

/// `type.matcher.v3.RegexMatchAndSubstitute`
fn regex(raw: Raw<'_>) -> Rewrite {
    let pattern = raw.at(["pattern", "regex"]).and_then(Raw::string);
    Rewrite::compile(
        &pattern.unwrap_or_default(),
        &message::text(raw, "substitution"),
    )
}
