//! What a connection manager does to a request before it looks for a route: version, host and path.

use std::borrow::Cow;

use super::runtime::Runtime;
use super::{Answer, Request};
use meshladder_text::json::Raw;

mod headers;
mod host;

pub(crate) use headers::is_upgrade;
pub(crate) use host::port_start;

use headers::Cleaning;

mod normalize;

/// The fields of an `HttpConnectionManager` that matter here.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are fields of the message, each on its own"
)]
pub struct RequestPreparation {
    accept_http_10: bool,
    default_host_for_http_10: Box<str>,
    rejects_fragments: bool,
    escaped_slashes: EscapedSlashes,
    normalize_path: bool,
    merge_slashes: bool,
    strip_trailing_host_dot: bool,
    strip_port: StripPort,
    /// "If the prior hop is not a trusted proxy, overwrite any x-forwarded-proto value it set as
    /// untrusted".
    overwrites_forwarded_proto: bool,
    cleaning: Cleaning,
}

/// `path_with_escaped_slashes_action`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapedSlashes {
    Keep,
    Reject,
    Redirect,
    Forward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StripPort {
    No,
    Matching,
    Any,
}

/// A request on its way to a route, or the end of it.
#[derive(Clone, Debug)]
pub enum PreparedRequest<'r> {
    /// The request as matchers see it.
    Request(Cow<'r, Request>),
    /// The connection manager answers.
    Answered {
        /// The answer.
        answer: Answer,
        /// The `location` header, when the client is sent elsewhere.
        location: Option<String>,
    },
}

impl RequestPreparation {
    /// Compiles an `HttpConnectionManager`.
    pub fn compile(manager: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let flag = |key: &str| manager.get(key).and_then(Raw::bool).unwrap_or_default();
        let http_10 = manager.get("http_protocol_options");
        let hops = manager
            .get("xff_num_trusted_hops")
            .and_then(Raw::number)
            .unwrap_or_default();
        Self {
            accept_http_10: http_10
                .and_then(|options| options.get("accept_http_10")?.bool())
                .unwrap_or_default(),
            default_host_for_http_10: http_10
                .and_then(|options| options.string_at("default_host_for_http_10"))
                .unwrap_or_default()
                .into(),
            // Istio's bootstrap turns this guard off.
            rejects_fragments: runtime.flag(
                "envoy.reloadable_features.http_reject_path_with_fragment",
                true,
            ),
            escaped_slashes: match manager
                .string_at("path_with_escaped_slashes_action")
                .as_deref()
            {
                Some("REJECT_REQUEST") => EscapedSlashes::Reject,
                Some("UNESCAPE_AND_REDIRECT") => EscapedSlashes::Redirect,
                Some("UNESCAPE_AND_FORWARD") => EscapedSlashes::Forward,
                _ => EscapedSlashes::Keep,
            },
            normalize_path: flag("normalize_path"),
            merge_slashes: flag("merge_slashes"),
            strip_trailing_host_dot: flag("strip_trailing_host_dot"),
            strip_port: match (
                flag("strip_any_host_port"),
                flag("strip_matching_host_port"),
            ) {
                (true, _) => StripPort::Any,
                (false, true) => StripPort::Matching,
                (false, false) => StripPort::No,
            },
            overwrites_forwarded_proto: flag("use_remote_address") && hops == 0,
            cleaning: Cleaning::compile(manager),
        }
    }

    /// The request as matchers see it, or the answer that ends it here.
    pub fn enter<'r>(&self, request: &'r Request) -> PreparedRequest<'r> {
        match self.enters(request) {
            Ok(request) => PreparedRequest::Request(request),
            Err((answer, location)) => PreparedRequest::Answered { answer, location },
        }
    }

    fn enters<'r>(&self, request: &'r Request) -> Result<Cow<'r, Request>, LocalReply> {
        let mut request = Cow::Borrowed(request);
        self.check_version_and_host(&mut request)?;
        // "Currently we only support relative paths at the application layer."
        if !request.path.is_empty() && !request.path.starts_with('/') {
            return Err((
                Answer::new(&request, 404, &[], "absolute_path_rejected"),
                None,
            ));
        }
        let (path, is_redirect) = self.path(&request)?;
        if let Cow::Owned(path) = path {
            request.to_mut().path = path;
        }
        if is_redirect {
            return Err(redirected(&request));
        }
        if let Cow::Owned(authority) = self.authority(&request) {
            request.to_mut().authority = authority;
        }
        headers::clean(&mut request, self.cleaning);
        self.set_scheme(&mut request);
        Ok(request)
    }

    /// These answers come before the request's headers are looked at, so they are the same for
    /// gRPC.
    fn check_version_and_host(&self, request: &mut Cow<'_, Request>) -> Result<(), LocalReply> {
        if request.connection.plain_http == Some("http/1.0") {
            if !self.accept_http_10 {
                return Err(plain(426, "low_version"));
            }
            if request.authority.is_empty() && !self.default_host_for_http_10.is_empty() {
                request.to_mut().authority = self.default_host_for_http_10.to_string();
            }
        }
        if !host::is_valid(&request.authority) {
            return Err(plain(400, "http.invalid_authority"));
        }
        Ok(())
    }

    /// The path as matchers see it, and whether the client is redirected to it.
    fn path<'r>(&self, request: &'r Request) -> Result<(Cow<'r, str>, bool), LocalReply> {
        let failed = || {
            (
                Answer::new(request, 400, &[], "path_normalization_failed"),
                None,
            )
        };
        let mut path = Cow::Borrowed(&*request.path);
        if let Some(fragment) = path.find('#') {
            if self.rejects_fragments {
                return Err(failed());
            }
            path = Cow::Borrowed(&request.path[..fragment]);
        }
        let mut is_redirect = false;
        if self.escaped_slashes != EscapedSlashes::Keep
            && let Some(unescaped) = normalize::unescape_slashes(&path)
        {
            match self.escaped_slashes {
                EscapedSlashes::Reject => return Err(failed()),
                action => is_redirect = action == EscapedSlashes::Redirect,
            }
            path = Cow::Owned(unescaped);
        }
        if self.normalize_path && !path.is_empty() {
            path = Cow::Owned(normalize::normalize(&path).ok_or_else(failed)?);
        }
        // "Merge slashes after path normalization to catch potential edge cases with percent
        // encoding."
        if self.merge_slashes
            && let Some(merged) = normalize::merge_slashes(&path)
        {
            path = Cow::Owned(merged);
        }
        let is_changed = *path != *request.path;
        Ok((
            if is_changed {
                path.into_owned().into()
            } else {
                Cow::Borrowed(&*request.path)
            },
            is_redirect,
        ))
    }

    fn authority<'r>(&self, request: &'r Request) -> Cow<'r, str> {
        let mut authority = Cow::Borrowed(&*request.authority);
        if self.strip_trailing_host_dot {
            authority = host::without_trailing_dot(&request.authority);
        }
        let port = match self.strip_port {
            StripPort::No => return authority,
            StripPort::Matching => Some(request.connection.destination.1),
            StripPort::Any => None,
        };
        match host::without_port(&authority, port) {
            Some(stripped) => Cow::Owned(stripped.to_owned()),
            None => authority,
        }
    }

    /// `x-forwarded-proto` as it is from here on, and `:scheme` after it: "If :scheme is not set,
    /// sets :scheme based on X-Forwarded-Proto if a valid scheme". Only HTTP/2 has a `:scheme` of
    /// its own.
    fn set_scheme(&self, request: &mut Cow<'_, Request>) {
        let name = "x-forwarded-proto";
        let is_stated = request.headers.iter().any(|(n, _)| n == name);
        if self.overwrites_forwarded_proto {
            let scheme = if request.connection.tls.is_some() {
                "https"
            } else {
                "http"
            };
            if is_stated || request.scheme != scheme {
                let request = request.to_mut();
                request.headers.retain(|(n, _)| n != name);
                scheme.clone_into(&mut request.scheme);
            }
        } else if is_stated && request.connection.plain_http != Some("h2c") {
            let stated = request
                .values(name)
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            if matches!(&*stated, "http" | "https") && stated != request.scheme {
                request.to_mut().scheme = stated;
            }
        }
    }
}

type LocalReply = (Answer, Option<String>);

fn plain(code: u16, details: &str) -> LocalReply {
    let body = String::new();
    (
        Answer {
            code,
            grpc_status: None,
            flags: Vec::new(),
            details: details.to_owned(),
            body,
        },
        None,
    )
}

/// "gRPC requests are rejected if Envoy is configured to redirect post-normalization".
fn redirected(request: &Request) -> LocalReply {
    let is_grpc = super::answer::is_grpc(request);
    let answer = Answer::new(
        request,
        if is_grpc { 400 } else { 307 },
        &[],
        "path_normalization_failed",
    );
    (answer, (!is_grpc).then(|| request.path.clone()))
}

#[cfg(test)]
mod tests;
