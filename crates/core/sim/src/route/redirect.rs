//! `config.route.v3.RedirectAction`.

use std::borrow::Cow;

use super::RouteMatch;
use super::rewrite::PathRewrite;
use crate::Request;
use meshladder_text::json::Raw;

/// A compiled redirect. Empty fields keep what the request has.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The status.
    pub response_code: u16,
    scheme: Box<str>,
    host: Box<str>,
    /// With its colon.
    port: Box<str>,
    path: Box<str>,
    rewrite: PathRewrite,
    strip_query: bool,
}

impl Default for Redirect {
    fn default() -> Self {
        Self {
            // "The HTTP status code to use in the redirect response. The default response code is
            // MOVED_PERMANENTLY (301)."
            response_code: 301,
            scheme: Box::default(),
            host: Box::default(),
            port: Box::default(),
            path: Box::default(),
            rewrite: PathRewrite::None,
            strip_query: false,
        }
    }
}

impl Redirect {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let mut redirect = Self::default();
        for (key, value) in raw.members() {
            redirect.read(&key, value);
        }
        redirect
    }

    /// Takes in a member of the `RedirectAction`.
    fn read(&mut self, key: &str, value: Raw<'_>) {
        let text = value.string().unwrap_or_default();
        let flag = value.bool() == Some(true);
        match key {
            // "The scheme portion of the URL will be swapped with this value", and likewise host,
            // port and path.
            "https_redirect" if flag => self.scheme = "https".into(),
            "scheme_redirect" => self.scheme = text.into(),
            "host_redirect" => self.host = text.into(),
            "port_redirect" => {
                self.port = format!(":{}", value.number().unwrap_or_default()).into();
            }
            "path_redirect" => self.path = text.into(),
            "response_code" => self.response_code = code(&text),
            "strip_query" => self.strip_query = flag,
            other => {
                if let Some(rewrite) = PathRewrite::compile(other, value) {
                    self.rewrite = rewrite;
                }
            }
        }
    }

    /// The `location` header, or the fact that is missing to tell.
    pub(super) fn location(
        &self,
        route_match: &RouteMatch,
        request: &Request,
    ) -> Result<String, Box<str>> {
        let scheme = or(&self.scheme, &request.scheme);
        let host = or(&self.host, self.host_of(request, scheme));
        let rewritten = self.rewrite.apply(route_match, &request.path)?;
        let path = self.path_of(&rewritten);
        let path = self.without_query(&path);

        // A path that a rewrite left without its slash gets one.
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(format!("{scheme}://{host}{}{slash}{path}", self.port))
    }

    /// "The path_redirect query string, if any, … will not be stripped regardless of `strip_query`."
    fn without_query<'p>(&self, path: &'p str) -> &'p str {
        if !self.strip_query || self.path.contains('?') {
            return path;
        }
        match path.split_once('?') {
            Some((path, _)) => path,
            None => path,
        }
    }

    /// "`path_redirect`: The path portion of the URL will be swapped with this value"; the query
    /// stays, unless the new path has one.
    fn path_of<'p>(&'p self, path: &'p str) -> Cow<'p, str> {
        if self.path.is_empty() {
            return Cow::Borrowed(path);
        }
        match path.find('?') {
            Some(query) if !self.path.contains('?') => {
                Cow::Owned(format!("{}{}", self.path, &path[query..]))
            }
            _ => Cow::Borrowed(&self.path),
        }
    }

    /// The request's host: without its port when the port changes, or when it is the default one of
    /// a scheme that changes.
    fn host_of<'r>(&self, request: &'r Request, scheme: &str) -> &'r str {
        let host = &*request.authority;
        let Some(colon) = port_colon(host) else {
            return host;
        };
        let protocol = request
            .values("x-forwarded-proto")
            .next()
            .unwrap_or_default();
        // Envoy drops the port that belongs to the scheme it leaves.
        let is_default = matches!(
            (protocol, &host[colon..]),
            ("https", ":443") | ("http", ":80")
        );
        let port_changes = !self.port.is_empty() || scheme != protocol && is_default;
        if port_changes { &host[..colon] } else { host }
    }
}

fn code(name: &str) -> u16 {
    match name {
        "FOUND" => 302,
        "SEE_OTHER" => 303,
        "TEMPORARY_REDIRECT" => 307,
        "PERMANENT_REDIRECT" => 308,
        _ => 301,
    }
}

/// An empty field of a redirect keeps what the request has.
fn or<'t>(field: &'t str, request: &'t str) -> &'t str {
    if field.is_empty() { request } else { field }
}

/// Where the port of a host begins. The colons inside `[::1]` are none of it.
fn port_colon(host: &str) -> Option<usize> {
    if host.starts_with('[') {
        return Some(host.rfind("]:")? + 1);
    }
    host.rfind(':')
}
