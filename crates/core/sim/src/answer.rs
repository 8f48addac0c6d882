//! What a proxy answers on its own, as the client and the access log see it.

use super::Request;

/// A local reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status. "A local reply to a gRPC request is sent as 200 with a grpc-status", and
    /// the log shows 200.
    pub code: u16,
    /// `grpc-status`, for gRPC requests.
    pub grpc_status: Option<u8>,
    /// `%RESPONSE_FLAGS%`, in the order they are set; none is `-`.
    pub flags: Vec<&'static str>,
    /// `%RESPONSE_CODE_DETAILS%`
    pub details: String,
    /// The body; a gRPC client sees it as `grpc-message`.
    pub body: String,
}

impl Answer {
    /// A reply with that status to `request`, or with what stands for it in gRPC.
    pub fn new(
        request: &Request,
        code: u16,
        flags: &[&'static str],
        details: impl Into<String>,
    ) -> Self {
        let grpc_status = is_grpc(request).then(|| grpc_status_of(code));
        // The status that counts is in a trailer then.
        let code = if grpc_status.is_some() { 200 } else { code };
        Self {
            code,
            grpc_status,
            flags: flags.to_vec(),
            details: details.into(),
            body: String::new(),
        }
    }

    /// This answer with a body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }
}

/// "content-type exactly `application/grpc` or starting `application/grpc+`"; a request without a
/// path is none.
pub fn is_grpc(request: &Request) -> bool {
    if request.path.is_empty() {
        return false;
    }
    let Some(content_type) = request.values("content-type").next() else {
        return false;
    };
    match content_type.strip_prefix("application/grpc") {
        Some(rest) => rest.is_empty() || rest.starts_with('+'),
        None => false,
    }
}

/// Envoy's `Grpc::Utility::httpToGrpcStatus`.
fn grpc_status_of(code: u16) -> u8 {
    match code {
        // INTERNAL
        400 => 13,
        // UNAUTHENTICATED
        401 => 16,
        // PERMISSION_DENIED
        403 => 7,
        // UNIMPLEMENTED
        404 => 12,
        // UNAVAILABLE
        429 | 502..=504 => 14,
        // UNKNOWN
        _ => 2,
    }
}
