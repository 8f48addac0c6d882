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
        let none = Box::<str>::default;
        Self {
            response_code: 301,
            scheme: none(),
            host: none(),
            port: none(),
            path: none(),
            rewrite: PathRewrite::None,
            strip_query: false,
        }
    }
}

impl Redirect {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let mut redirect = Self::default();
        for (key, value) in raw.members() {
            let text = || value.string().unwrap_or_default();
            match &*key {
                "https_redirect" if value.bool() == Some(true) => redirect.scheme = "https".into(),
                "scheme_redirect" => redirect.scheme = text().into(),
                "host_redirect" => redirect.host = text().into(),
                "port_redirect" => {
                    redirect.port = format!(":{}", value.number().unwrap_or_default()).into()
                }
                "path_redirect" => redirect.path = text().into(),
                "response_code" => redirect.response_code = code(&text()),
                "strip_query" => redirect.strip_query = value.bool().unwrap_or_default(),
                other => {
                    if let Some(rewrite) = PathRewrite::compile(other, value) {
                        redirect.rewrite = rewrite;
                    }
                }
            }
        }
        redirect
    }

    /// The `location` header, or the fact that is missing to tell.
    pub(super) fn location(
        &self,
        route_match: &RouteMatch,
        request: &Request,
    ) -> Result<String, Box<str>> {
        let scheme = if self.scheme.is_empty() {
            &*request.scheme
        } else {
            &*self.scheme
        };
        let host = if self.host.is_empty() {
            self.host_of(request, scheme)
        } else {
            &*self.host
        };
        let rewritten = self.rewrite.apply(route_match, &request.path)?;
        let path = self.path_of(&rewritten);
        let slash = if path.starts_with('/') { "" } else { "/" };
        // "The path_redirect query string, if any, … will not be stripped regardless of
        // `strip_query`."
        let end = if self.strip_query && !self.path.contains('?') {
            path.find('?')
        } else {
            None
        };
        Ok(format!(
            "{scheme}://{host}{}{slash}{}",
            self.port,
            &path[..end.unwrap_or(path.len())]
        ))
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
        let colon = if host.starts_with('[') {
            host.rfind("]:").map(|at| at + 1)
        } else {
            host.rfind(':')
        };
        let Some(colon) = colon else { return host };
        let protocol = request
            .values("x-forwarded-proto")
            .next()
            .unwrap_or_default();
        let is_default = matches!(
            (protocol, &host[colon..]),
            ("https", ":443") | ("http", ":80")
        );
        if !self.port.is_empty() || scheme != protocol && is_default {
            &host[..colon]
        } else {
            host
        }
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
