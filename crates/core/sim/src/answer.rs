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
        let code = if grpc_status.is_some() { 200 } else { code };
        Self {
            code,
            grpc_status,
            flags: flags.to_vec(),
            details: details.into(),
            body: String::new(),
        }
    }

    /// The same with a body.
    #[must_use]
    pub fn with_body(self, body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }
}

/// "content-type exactly `application/grpc` or starting `application/grpc+`"; a request without a
/// path is none.
pub fn is_grpc(request: &Request) -> bool {
    let content_type = request.header("content-type");
    let rest = content_type
        .first()
        .and_then(|value| value.strip_prefix("application/grpc"));
    !request.path.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

fn grpc_status_of(code: u16) -> u8 {
    match code {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502..=504 => 14,
        _ => 2,
    }
}
