//! Who ended a request, at which hop, and whether that is a failure.

use meshladder_capture::access_log::{AccessRecord, LogField};

/// Who produced what the client got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Responder {
    /// The proxy that wrote the line.
    ThisProxy,
    /// What it sent the request to: another proxy, or what is behind it.
    NextHop,
    /// The application beside it.
    Application,
    /// The client left before there was an answer.
    Client,
    /// Nobody: a connection, not a request.
    Nobody,
    /// The line does not tell.
    Unknown,
}

/// Where the proxy stands that wrote the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogSide {
    /// A gateway.
    Gateway,
    /// The caller's sidecar.
    Client,
    /// The called pod's sidecar.
    Server,
    /// The line does not tell.
    Unknown,
}

/// Whether it went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerClass {
    /// A failure.
    Failed,
    /// The application, or the next hop, refused: 4xx.
    Refused,
    /// The client left: "exclude from SLO".
    Left,
    /// All went well.
    Fine,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineJudgement {
    /// Who answered.
    pub by: Responder,
    /// At which hop.
    pub side: LogSide,
    /// How it went.
    pub class: AnswerClass,
    /// A failure that HTTP shows as 200: "a local reply to a request with content-type
    /// `application/grpc*` is sent as HTTP 200 with a grpc-status".
    pub is_grpc: bool,
}

/// Judges one line.
pub fn judge(record: &AccessRecord<'_>) -> LineJudgement {
    let side = side(record);
    let details = record.get(LogField::Details);
    let relayed = if side == LogSide::Server {
        Responder::Application
    } else {
        Responder::NextHop
    };
    let judgement = |by, class| LineJudgement {
        by,
        side,
        class,
        is_grpc: false,
    };
    // Nearly all lines of most logs.
    if details == "via_upstream" && record.get(LogField::Flags).is_empty() {
        return judgement(relayed, of_answer(record));
    }
    let code = record.code();
    if has_left(record) {
        return judgement(Responder::Client, AnswerClass::Left);
    }
    if record.is_connection() {
        let is_fine = record.get(LogField::Flags).is_empty()
            && record.get(LogField::Termination).is_empty()
            && record.get(LogField::ClientFailure).is_empty();
        return if is_fine {
            judgement(Responder::Nobody, AnswerClass::Fine)
        } else {
            judgement(Responder::ThisProxy, AnswerClass::Failed)
        };
    }
    match details {
        "via_upstream" => judgement(relayed, of_answer(record)),
        "" => without_details(record, relayed, judgement),
        _ if details.starts_with("upstream_reset_after_response_started") => {
            judgement(relayed, AnswerClass::Failed)
        }
        _ if code >= 400 || code == 0 => judgement(Responder::ThisProxy, AnswerClass::Failed),
        _ if is_answer_of_its_own(details) => judgement(Responder::ThisProxy, AnswerClass::Fine),
        _ => LineJudgement {
            is_grpc: code == 200,
            ..judgement(Responder::ThisProxy, AnswerClass::Failed)
        },
    }
}

/// `DC` or `DR`, and nothing that this proxy or the upstream did.
fn has_left(record: &AccessRecord<'_>) -> bool {
    let mut left = false;
    record.flags().all(|flag| match flag {
        "DC" | "DR" => {
            left = true;
            true
        }
        "DI" => true,
        _ => false,
    }) && left
}

/// An answer that came from elsewhere. `URX` is set when the last of several tries was no better.
fn of_answer(record: &AccessRecord<'_>) -> AnswerClass {
    let grpc = record.get(LogField::GrpcStatus);
    match record.code() {
        500.. => AnswerClass::Failed,
        400..=499 => AnswerClass::Refused,
        _ if !matches!(grpc, "" | "0" | "OK" | "Ok") => AnswerClass::Failed,
        _ => AnswerClass::Fine,
    }
}

/// Releases before Istio 1.9, and custom formats: the flags have to do.
fn without_details(
    record: &AccessRecord<'_>,
    relayed: Responder,
    judgement: impl Fn(Responder, AnswerClass) -> LineJudgement,
) -> LineJudgement {
    let failing = record
        .flags()
        .any(|flag| !matches!(flag, "DI" | "RFCF" | "URX"));
    if failing {
        let is_grpc = record.code() == 200 && record.get(LogField::ServiceTime).is_empty();
        return LineJudgement {
            is_grpc,
            ..judgement(Responder::ThisProxy, AnswerClass::Failed)
        };
    }
    let answered = record.flags().next().is_some() || !record.get(LogField::ServiceTime).is_empty();
    let by = if answered {
        relayed
    } else {
        Responder::Unknown
    };
    judgement(by, of_answer(record))
}

/// Details of answers below 400 that a proxy gives on purpose. With any other such a status is
/// gRPC's way to fail.
fn is_answer_of_its_own(details: &str) -> bool {
    const ON_PURPOSE: [&str; 12] = [
        "direct_response",
        "cors_response",
        "health_check_ok",
        "health_check_cached",
        "internal_redirect",
        "path_normalization_failed",
        "cache.",
        "lua_response",
        "ext_proc_local_response",
        "admin_filter_response",
        "file_server",
        "uhv.path_normalization_redirect",
    ];
    ON_PURPOSE.iter().any(|name| details.starts_with(name))
}

/// Told by the cluster's direction, by the server name a client's proxy sends, and by whose address
/// stands where.
fn side(record: &AccessRecord<'_>) -> LogSide {
    let cluster = record.get(LogField::Cluster);
    if cluster.starts_with("inbound") || cluster.starts_with("InboundPassthrough") {
        return LogSide::Server;
    }
    if cluster == "BlackHoleCluster" || cluster == "PassthroughCluster" {
        return LogSide::Client;
    }
    let route = record.get(LogField::Route);
    if route == "block_all" || route == "allow_any" {
        return LogSide::Client;
    }
    if !cluster.starts_with("outbound") {
        let from_proxy = record.get(LogField::ServerName).starts_with("outbound_");
        let no_chain = record.get(LogField::Details) == "filter_chain_not_found";
        return if from_proxy || no_chain {
            LogSide::Server
        } else {
            LogSide::Unknown
        };
    }
    // A sidecar's client is the pod itself; a gateway's is not.
    let own = address(record.get(LogField::UpstreamLocal));
    match own {
        "" => LogSide::Unknown,
        own if own == address(record.get(LogField::Remote)) => LogSide::Client,
        own if own == address(record.get(LogField::Local)) => LogSide::Gateway,
        _ => LogSide::Unknown,
    }
}

/// `10.0.0.1:80` without the port.
pub(super) fn address(text: &str) -> &str {
    text.rsplit_once(':').map_or(text, |(address, _)| address)
}

impl Responder {
    /// For JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::ThisProxy => "this-proxy",
            Self::NextHop => "next-hop",
            Self::Application => "application",
            Self::Client => "client",
            Self::Nobody => "nobody",
            Self::Unknown => "unknown",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::ThisProxy => "this proxy",
            Self::NextHop => "the next hop",
            Self::Application => "the application",
            Self::Client => "nobody, the client left",
            Self::Nobody => "-",
            Self::Unknown => "not told",
        }
    }
}

impl LogSide {
    /// One word.
    pub fn id(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Client => "client",
            Self::Server => "server",
            Self::Unknown => "unknown",
        }
    }
}

impl AnswerClass {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Failed, Self::Refused, Self::Left, Self::Fine];

    /// One word.
    pub fn id(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Left => "left",
            Self::Fine => "fine",
        }
    }
}
