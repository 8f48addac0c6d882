//! What a connection manager does to a request before it looks for a route: version, host and path.

use std::borrow::Cow;

use super::runtime::Runtime;
use super::{Answer, Request, message};
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
        let hops = message::number(manager, "xff_num_trusted_hops");
        let is_edge = message::flag(manager, "use_remote_address");
        let mut preparation = Self {
            accept_http_10: false,
            default_host_for_http_10: Box::default(),
            // Istio's bootstrap turns this guard off.
            rejects_fragments: runtime.flag(
                "envoy.reloadable_features.http_reject_path_with_fragment",
                true,
            ),
            escaped_slashes: EscapedSlashes::compile(manager),
            normalize_path: message::flag(manager, "normalize_path"),
            merge_slashes: message::flag(manager, "merge_slashes"),
            strip_trailing_host_dot: message::flag(manager, "strip_trailing_host_dot"),
            strip_port: StripPort::compile(manager),
            overwrites_forwarded_proto: is_edge && hops == 0,
            cleaning: Cleaning::compile(manager),
        };
        if let Some(options) = manager.get("http_protocol_options") {
            preparation.accept_http_10 = message::flag(options, "accept_http_10");
            preparation.default_host_for_http_10 =
                message::text(options, "default_host_for_http_10").into();
        }
        preparation
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
            let answer = Answer::new(&request, 404, &[], "absolute_path_rejected");
            return Err((answer, None));
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
        // Matchers see what is left of the headers, and `x-forwarded-proto` as Envoy sets it.
        headers::clean(&mut request, self.cleaning);
        self.set_scheme(&mut request);
        Ok(request)
    }

    /// Whether the codec takes the request at all. These answers come before the request's headers are
    /// looked at, so gRPC gets them too.
    fn check_version_and_host(&self, request: &mut Cow<'_, Request>) -> Result<(), LocalReply> {
        if request.connection.plain_http == Some("http/1.0") {
            if !self.accept_http_10 {
                return Err(plain(426, "low_version"));
            }
            // "A default host for HTTP/1.0 requests. This is highly suggested if accept_http_10 is
            // true as Envoy does not otherwise support HTTP/1.0 without a Host header."
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
        let mut path = Cow::Borrowed(&*request.path);
        if let Some(fragment) = path.find('#') {
            if self.rejects_fragments {
                return Err(normalization_failed(request));
            }
            path = Cow::Borrowed(&request.path[..fragment]);
        }

        // "Action to take when request URL path contains escaped slash sequences (%2F, %2f, %5C and
        // %5c)."
        let mut is_redirect = false;
        if self.escaped_slashes != EscapedSlashes::Keep
            && let Some(unescaped) = normalize::unescape_slashes(&path)
        {
            if self.escaped_slashes == EscapedSlashes::Reject {
                return Err(normalization_failed(request));
            }
            is_redirect = self.escaped_slashes == EscapedSlashes::Redirect;
            path = Cow::Owned(unescaped);
        }

        // "Should paths be normalized according to RFC 3986 before any processing of requests by
        // HTTP filters or routing?"
        if self.normalize_path && !path.is_empty() {
            let Some(normal) = normalize::normalize(&path) else {
                return Err(normalization_failed(request));
            };
            path = Cow::Owned(normal);
        }
        // "Merge slashes after path normalization to catch potential edge cases with percent
        // encoding."
        if self.merge_slashes
            && let Some(merged) = normalize::merge_slashes(&path)
        {
            path = Cow::Owned(merged);
        }

        // A request whose path stays as it is need not be copied.
        if *path == *request.path {
            return Ok((Cow::Borrowed(&*request.path), is_redirect));
        }
        Ok((Cow::Owned(path.into_owned()), is_redirect))
    }

    fn authority<'r>(&self, request: &'r Request) -> Cow<'r, str> {
        let mut authority = Cow::Borrowed(&*request.authority);
        // "Determines if trailing dot of the host should be removed from host/authority header
        // before any processing of request by HTTP filters or routing."
        if self.strip_trailing_host_dot {
            authority = host::without_trailing_dot(&request.authority);
        }
        let port = match self.strip_port {
            StripPort::No => return authority,
            // "The port would be removed only if it is equal to the listener's local port."
            StripPort::Matching => Some(request.connection.destination.1),
            StripPort::Any => None,
        };
        match host::without_port(&authority, port) {
            Some(stripped) => Cow::Owned(stripped.to_owned()),
            None => authority,
        }
    }

    /// `x-forwarded-proto` as it is from here on, and `:scheme` after it.
    fn set_scheme(&self, request: &mut Cow<'_, Request>) {
        let name = "x-forwarded-proto";
        let is_stated = request.headers.iter().any(|(other, _)| other == name);
        if self.overwrites_forwarded_proto {
            let scheme = match request.connection.tls {
                Some(_) => "https",
                None => "http",
            };
            if is_stated || request.scheme != scheme {
                let request = request.to_mut();
                request.headers.retain(|(other, _)| other != name);
                scheme.clone_into(&mut request.scheme);
            }
            return;
        }

        // "If :scheme is not set, sets :scheme based on X-Forwarded-Proto if a valid scheme". Only
        // HTTP/2 has a `:scheme` of its own.
        if !is_stated || request.connection.plain_http == Some("h2c") {
            return;
        }
        let stated = request.values(name).next().unwrap_or_default();
        let stated = stated.to_ascii_lowercase();
        if matches!(&*stated, "http" | "https") && stated != request.scheme {
            request.to_mut().scheme = stated;
        }
    }
}

impl EscapedSlashes {
    fn compile(manager: Raw<'_>) -> Self {
        match &*message::text(manager, "path_with_escaped_slashes_action") {
            "REJECT_REQUEST" => Self::Reject,
            "UNESCAPE_AND_REDIRECT" => Self::Redirect,
            "UNESCAPE_AND_FORWARD" => Self::Forward,
            _ => Self::Keep,
        }
    }
}

impl StripPort {
    fn compile(manager: Raw<'_>) -> Self {
        if message::flag(manager, "strip_any_host_port") {
            return Self::Any;
        }
        if message::flag(manager, "strip_matching_host_port") {
            return Self::Matching;
        }
        Self::No
    }
}

/// The answer, and where it sends the client.
type LocalReply = (Answer, Option<String>);

fn plain(code: u16, details: &str) -> LocalReply {
    let answer = Answer {
        code,
        grpc_status: None,
        flags: Vec::new(),
        details: details.to_owned(),
        body: String::new(),
    };
    (answer, None)
}

fn normalization_failed(request: &Request) -> LocalReply {
    let answer = Answer::new(request, 400, &[], "path_normalization_failed");
    (answer, None)
}

/// "gRPC requests are rejected if Envoy is configured to redirect post-normalization".
fn redirected(request: &Request) -> LocalReply {
    if super::answer::is_grpc(request) {
        return normalization_failed(request);
    }
    let answer = Answer::new(request, 307, &[], "path_normalization_failed");
    (answer, Some(request.path.clone()))
}

#[cfg(test)]
mod tests;
