//! What a field of an access log holds, and which command operators write it.

/// A field whose meaning is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogField {
    /// When the request started, RFC 3339.
    Start,
    /// Method.
    Method,
    /// Path and query.
    Path,
    /// `HTTP/1.1`; nothing for TCP.
    Protocol,
    /// Status; 0 when none was sent.
    Code,
    /// Response flags, joined by commas.
    Flags,
    /// Response code details.
    Details,
    /// Why the downstream connection was ended.
    Termination,
    /// Why the connection to the upstream failed.
    Failure,
    /// Bytes of the request's body.
    Received,
    /// Bytes of the response's body.
    Sent,
    /// Milliseconds.
    Duration,
    /// Milliseconds, as the upstream's header has it.
    ServiceTime,
    /// `x-forwarded-for`
    ForwardedFor,
    /// `user-agent`
    UserAgent,
    /// `x-request-id`
    RequestId,
    /// `:authority`
    Authority,
    /// `ip:port` of the upstream.
    UpstreamHost,
    /// The cluster.
    Cluster,
    /// This proxy's end of the connection to the upstream.
    UpstreamLocal,
    /// Where the client connected to.
    Local,
    /// The client's address.
    Remote,
    /// The server name the client sent.
    ServerName,
    /// The route.
    Route,
    /// gRPC status, a number or a name.
    GrpcStatus,
    /// Why this proxy closed the client's connection.
    CloseReason,
    /// Why the client's TLS handshake failed.
    ClientFailure,
}

/// How many there are.
pub(super) const COUNT: usize = LogField::ClientFailure as usize + 1;

impl LogField {
    /// All of them.
    pub(super) const ALL: [Self; COUNT] = [
        Self::Start,
        Self::Method,
        Self::Path,
        Self::Protocol,
        Self::Code,
        Self::Flags,
        Self::Details,
        Self::Termination,
        Self::Failure,
        Self::Received,
        Self::Sent,
        Self::Duration,
        Self::ServiceTime,
        Self::ForwardedFor,
        Self::UserAgent,
        Self::RequestId,
        Self::Authority,
        Self::UpstreamHost,
        Self::Cluster,
        Self::UpstreamLocal,
        Self::Local,
        Self::Remote,
        Self::ServerName,
        Self::Route,
        Self::GrpcStatus,
        Self::CloseReason,
        Self::ClientFailure,
    ];
}

/// What the text of a field may look like, as far as it helps to find where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldShape {
    /// Anything.
    Any,
    /// Without blanks.
    Word,
    /// Without blanks and quotes.
    Name,
    /// Digits, `-` or nothing.
    Number,
    /// `2026-11-15T06:31:02.101Z`
    Time,
    /// `HTTP/1.1`, `-` or nothing.
    Protocol,
    /// Short names with commas, `-` or nothing.
    Flags,
    /// Long names with commas, `-` or nothing.
    LongFlags,
    /// Without quotes.
    Phrase,
    /// A word, or `name{…}` with blanks inside: "blanks were kept up to 1.20".
    Details,
}

impl FieldShape {
    /// Whether a text is of this class; may refuse what the slow way takes.
    #[inline]
    pub(super) fn fits(self, text: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Word => memchr::memchr(b' ', text).is_none(),
            Self::Name => has_neither(text),
            Self::Number => text.iter().all(u8::is_ascii_digit) || text == b"-",
            Self::Time => is_time(text),
            Self::Protocol => is_protocol(text),
            Self::Flags => text
                .iter()
                .all(|&b| is_of_flags(b) && !b.is_ascii_lowercase()),
            Self::LongFlags => text.iter().all(|&b| is_of_flags(b)),
            Self::Phrase => memchr::memchr(b'"', text).is_none(),
            Self::Details => has_neither(text) && is_closed(text),
        }
    }

    /// The shape as a regular expression, which takes the shortest that lets the rest of the line
    /// match.
    pub(super) fn pattern(self) -> &'static str {
        match self {
            Self::Any => ".*?",
            Self::Word => "[^ ]*?",
            Self::Name => "[^ \"]*?",
            Self::Number => "(?:[0-9]*?|-)",
            Self::Time => "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z",
            Self::Protocol => "(?:HTTP/[0-9.]+|-|)",
            Self::Flags => "[A-Z0-9_,-]*?",
            Self::LongFlags => "[A-Za-z0-9_,-]*?",
            Self::Phrase => "[^\"]*?",
            Self::Details => r#"(?:[^ "{\[(]+[{\[(].*?[}\])]|[^ "]*?)"#,
        }
    }
}

/// Neither a blank nor a quote.
fn has_neither(text: &[u8]) -> bool {
    match text.len() {
        0..32 => !text.iter().any(|b| matches!(b, b' ' | b'"')),
        _ => memchr::memchr2(b' ', b'"', text).is_none(),
    }
}

/// `-`, nothing, or a version of HTTP.
#[inline]
fn is_protocol(text: &[u8]) -> bool {
    if text.len() < 2 {
        return true;
    }
    let version = text.strip_prefix(b"HTTP/").unwrap_or_default();
    !version.is_empty() && version.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

#[inline]
fn is_of_flags(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'-' | b'_')
}

/// Whether an argument that is opened is also closed at the end.
#[inline]
fn is_closed(text: &[u8]) -> bool {
    matches!(text.last(), Some(b'}' | b']' | b')'))
        || !text.iter().any(|b| matches!(b, b'{' | b'[' | b'('))
}

fn is_time(text: &[u8]) -> bool {
    text.len() >= 20
        && text[4] == b'-'
        && text[7] == b'-'
        && text[10] == b'T'
        && text[13] == b':'
        && text[16] == b':'
        && text[text.len() - 1] == b'Z'
}

/// What a command operator writes, and what that looks like. `argument` stands in the operator's
/// parentheses.
pub(super) fn of_operator(name: &str, argument: &str) -> (Option<LogField>, FieldShape) {
    use LogField as F;
    let (field, class) = match name {
        "START_TIME" if argument.is_empty() => (F::Start, FieldShape::Time),
        "START_TIME" => (F::Start, FieldShape::Any),
        "REQ" | "REQ_WITHOUT_QUERY" | "REQUEST_HEADER" | "RESP" | "RESPONSE_HEADER" => {
            return of_header(name, argument);
        }
        "PATH" => (F::Path, FieldShape::Any),
        "PROTOCOL" => (F::Protocol, FieldShape::Protocol),
        "RESPONSE_CODE" => (F::Code, FieldShape::Number),
        "RESPONSE_FLAGS" => (F::Flags, FieldShape::Flags),
        "RESPONSE_FLAGS_LONG" => (F::Flags, FieldShape::LongFlags),
        "RESPONSE_CODE_DETAILS" => (F::Details, FieldShape::Details),
        "CONNECTION_TERMINATION_DETAILS" => (F::Termination, FieldShape::Phrase),
        "UPSTREAM_TRANSPORT_FAILURE_REASON" => (F::Failure, FieldShape::Any),
        "BYTES_RECEIVED" => (F::Received, FieldShape::Number),
        "BYTES_SENT" => (F::Sent, FieldShape::Number),
        "DURATION" => (F::Duration, FieldShape::Number),
        "UPSTREAM_HOST" | "UPSTREAM_REMOTE_ADDRESS" => (F::UpstreamHost, FieldShape::Name),
        "UPSTREAM_CLUSTER" | "UPSTREAM_CLUSTER_RAW" => (F::Cluster, FieldShape::Word),
        "UPSTREAM_LOCAL_ADDRESS" => (F::UpstreamLocal, FieldShape::Word),
        "DOWNSTREAM_LOCAL_ADDRESS" => (F::Local, FieldShape::Word),
        "DOWNSTREAM_REMOTE_ADDRESS" | "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT" => {
            (F::Remote, FieldShape::Word)
        }
        "REQUESTED_SERVER_NAME" => (F::ServerName, FieldShape::Word),
        "ROUTE_NAME" => (F::Route, FieldShape::Word),
        "GRPC_STATUS" | "GRPC_STATUS_NUMBER" => (F::GrpcStatus, FieldShape::Word),
        "DOWNSTREAM_LOCAL_CLOSE_REASON" => (F::CloseReason, FieldShape::Any),
        "DOWNSTREAM_TRANSPORT_FAILURE_REASON" => (F::ClientFailure, FieldShape::Any),
        _ => return (None, FieldShape::Any),
    };
    (Some(field), class)
}

/// "`%REQ(X?Y):Z%`: X is the main HTTP header, Y is the alternative one".
fn of_header(operator: &str, argument: &str) -> (Option<LogField>, FieldShape) {
    let argument = argument.to_ascii_lowercase();
    let (main, alternatives) = argument.split_once('?').unwrap_or((&argument, ""));
    let other = alternatives.split('?').next().unwrap_or_default();
    if operator.starts_with("RESP") {
        return match main {
            "x-envoy-upstream-service-time" => (Some(LogField::ServiceTime), FieldShape::Word),
            "grpc-status" => (Some(LogField::GrpcStatus), FieldShape::Word),
            _ => (None, FieldShape::Any),
        };
    }
    let (field, class) = match (main, other) {
        (":method", _) => (LogField::Method, FieldShape::Name),
        (":path", _) | ("x-envoy-original-path", ":path") => (LogField::Path, FieldShape::Any),
        (":authority" | "host", _) => (LogField::Authority, FieldShape::Name),
        ("x-request-id", _) => (LogField::RequestId, FieldShape::Name),
        ("x-forwarded-for", _) => (LogField::ForwardedFor, FieldShape::Any),
        ("user-agent", _) => (LogField::UserAgent, FieldShape::Any),
        _ => return (None, FieldShape::Any),
    };
    (Some(field), class)
}
