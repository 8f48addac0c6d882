//! Headers that a connection manager joins or takes away before anything looks at them.

use std::borrow::Cow;

use crate::{Request, message};
use meshladder_text::json::Raw;

/// What an `HttpConnectionManager` says of headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cleaning {
    /// `use_remote_address`: requests come from outside.
    is_edge: bool,
    /// Without `internal_address_config` no request is internal.
    may_be_internal: bool,
    preserves_request_id: bool,
    forward_client_cert: ForwardClientCert,
}

/// `forward_client_cert_details`, as far as a stated `x-forwarded-client-cert` stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardClientCert {
    Never,
    /// "if the client connection is mTLS"
    Mtls,
    Always,
}

/// What decides of headers beside their names.
#[derive(Clone, Copy, Debug)]
struct ConnectionFacts {
    is_upgrade: bool,
    is_mtls: bool,
}

impl ConnectionFacts {
    fn of(request: &Request) -> Self {
        let is_mtls = match &request.connection.tls {
            Some(tls) => tls.peer.is_some(),
            None => false,
        };
        Self {
            is_upgrade: is_upgrade(request),
            is_mtls,
        }
    }
}

impl Cleaning {
    pub(super) fn compile(manager: Raw<'_>) -> Self {
        let details = message::text(manager, "forward_client_cert_details");
        Self {
            is_edge: message::flag(manager, "use_remote_address"),
            may_be_internal: manager.get("internal_address_config").is_some(),
            preserves_request_id: message::flag(manager, "preserve_external_request_id"),
            forward_client_cert: match &*details {
                "FORWARD_ONLY" | "APPEND_FORWARD" => ForwardClientCert::Mtls,
                "ALWAYS_FORWARD_ONLY" => ForwardClientCert::Always,
                _ => ForwardClientCert::Never,
            },
        }
    }

    fn removes(self, name: &str, value: &str, connection: ConnectionFacts) -> bool {
        match name {
            "connection" | "upgrade" => !connection.is_upgrade,
            "keep-alive" | "proxy-connection" | "transfer-encoding" => true,
            "te" => !value.is_empty() && !value.split(',').any(|token| token.trim() == "trailers"),
            "x-forwarded-client-cert" => match self.forward_client_cert {
                ForwardClientCert::Never => true,
                ForwardClientCert::Mtls => !connection.is_mtls,
                ForwardClientCert::Always => false,
            },
            // Envoy gives them values of its own.
            "x-request-id" => self.is_edge && !self.preserves_request_id,
            "x-envoy-external-address" => self.is_edge,
            _ => self.removes_envoy_header(name),
        }
    }

    /// Envoy believes its own headers only from requests that are internal.
    fn removes_envoy_header(self, name: &str) -> bool {
        if !name.starts_with("x-envoy-") || self.may_be_internal {
            return false;
        }
        is_internal_only(name) || self.is_edge && is_not_for_edges(name)
    }
}

/// Joins and removes; a request that needs neither is not copied.
pub(super) fn clean(request: &mut Cow<'_, Request>, cleaning: Cleaning) {
    let connection = ConnectionFacts::of(request);
    if !is_changed(request, cleaning, connection) {
        return;
    }

    let mut headers: Vec<(String, String)> = Vec::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        if cleaning.removes(name, value, connection) {
            continue;
        }
        let mut lines = headers.iter_mut();
        match lines.find(|(other, _)| other == name && is_one_line(other)) {
            Some((_, line)) => join(line, value),
            None => headers.push((name.clone(), value.clone())),
        }
    }
    request.to_mut().headers = headers;
}

fn is_changed(request: &Request, cleaning: Cleaning, connection: ConnectionFacts) -> bool {
    for (at, (name, value)) in request.headers.iter().enumerate() {
        if cleaning.removes(name, value, connection) {
            return true;
        }
        let mut before = request.headers[..at].iter();
        if before.any(|(other, _)| other == name) && is_one_line(name) {
            return true;
        }
    }
    false
}

fn join(line: &mut String, value: &str) {
    // No comma beside an empty value.
    if !line.is_empty() && !value.is_empty() {
        line.push(',');
    }
    line.push_str(value);
}

/// Whether a request asks for an upgrade: "the Connection header has the token upgrade, and there
/// is an Upgrade header". HTTP/1 codecs drop `h2c`.
pub(crate) fn is_upgrade(request: &Request) -> bool {
    let upgrade = request.values("upgrade").next().unwrap_or_default();
    if upgrade.is_empty() || upgrade.eq_ignore_ascii_case("h2c") {
        return false;
    }
    for line in request.values("connection") {
        for token in line.split(',') {
            if token.trim().eq_ignore_ascii_case("upgrade") {
                return true;
            }
        }
    }
    false
}

/// Headers that Envoy keeps in one line: several are joined with commas as they arrive, so that
/// none of their values can be matched alone. Envoy 1.40 was seen to do so.
fn is_one_line(name: &str) -> bool {
    matches!(
        name,
        "accept"
            | "accept-encoding"
            | "access-control-request-headers"
            | "access-control-request-method"
            | "access-control-request-private-network"
            | "authorization"
            | "cache-control"
            | "content-encoding"
            | "content-type"
            | "expect"
            | "grpc-accept-encoding"
            | "grpc-timeout"
            | "if-match"
            | "if-modified-since"
            | "if-none-match"
            | "if-range"
            | "if-unmodified-since"
            | "origin"
            | "pragma"
            | "proxy-status"
            | "referer"
            | "user-agent"
            | "via"
            | "x-client-trace-id"
            | "x-envoy-attempt-count"
            | "x-envoy-decorator-operation"
            | "x-envoy-downstream-service-cluster"
            | "x-envoy-downstream-service-node"
            | "x-envoy-external-address"
            | "x-envoy-is-timeout-retry"
            | "x-envoy-original-host"
            | "x-envoy-original-path"
            | "x-forwarded-for"
            | "x-forwarded-host"
            | "x-forwarded-port"
            | "x-forwarded-proto"
            | "x-request-id"
    )
}

/// Headers that are taken from requests which are not internal.
fn is_internal_only(name: &str) -> bool {
    matches!(
        name,
        "x-envoy-expected-rq-timeout-ms"
            | "x-envoy-force-trace"
            | "x-envoy-hedge-on-per-try-timeout"
            | "x-envoy-internal"
            | "x-envoy-ip-tags"
            | "x-envoy-max-retries"
            | "x-envoy-retriable-header-names"
            | "x-envoy-retriable-status-codes"
            | "x-envoy-retry-grpc-on"
            | "x-envoy-retry-on"
            | "x-envoy-upstream-alt-stat-name"
            | "x-envoy-upstream-rq-per-try-timeout-ms"
            | "x-envoy-upstream-rq-timeout-alt-response"
            | "x-envoy-upstream-rq-timeout-ms"
            | "x-envoy-upstream-stream-duration-ms"
    )
}

/// Headers that are taken from requests which come from outside.
fn is_not_for_edges(name: &str) -> bool {
    matches!(
        name,
        "x-envoy-decorator-operation"
            | "x-envoy-downstream-service-cluster"
            | "x-envoy-downstream-service-node"
            | "x-envoy-original-host"
            | "x-envoy-original-path"
    )
}
