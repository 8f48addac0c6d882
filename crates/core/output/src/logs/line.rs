//! One line of a log, decoded.

use std::fmt::Write;

use super::shown;
use meshladder_capture::access_log::{AccessRecord, LogField};
use meshladder_capture::flags;
use meshladder_judge::logs::{Class, Judgement};
use meshladder_text::json::{escape, escape_into};

/// For people: when, where, what, how it ended, who ended it and why.
pub fn line_text(
    source: &str,
    number: u64,
    record: &AccessRecord<'_>,
    judgement: Judgement,
) -> String {
    let get = |field| shown(record.get(field));
    let call = if record.is_connection() {
        format!("connection to {}", get(LogField::Local))
    } else {
        format!(
            "{} {}{}",
            get(LogField::Method),
            get(LogField::Authority),
            get(LogField::Path)
        )
    };
    let flags = record.get(LogField::Flags);
    let mut out = format!(
        "{source}:{number}: {} {call}: {}",
        get(LogField::Start),
        record.code()
    );
    for part in [flags, record.get(LogField::Details)]
        .into_iter()
        .filter(|part| !part.is_empty())
    {
        let _ = write!(out, " {}", shown(part));
    }
    let _ = write!(out, " by {}", judgement.by.words());
    if judgement.side.id() != "unknown" {
        let _ = write!(out, " at the {}", judgement.side.id());
    }
    for (what, field) in [
        ("to", LogField::UpstreamHost),
        ("by way of", LogField::Cluster),
    ] {
        if !record.get(field).is_empty() {
            let _ = write!(out, " {what} {}", get(field));
        }
    }
    if let Some(ms) = record.number(LogField::Duration) {
        let _ = write!(out, ", {ms} ms");
    }
    if !record.get(LogField::RequestId).is_empty() {
        let _ = write!(out, ", id {}", get(LogField::RequestId));
    }
    if judgement.class != Class::Fine {
        for text in means(record) {
            let _ = write!(out, "\n    {}", shown(&text));
        }
    }
    out
}

fn means(record: &AccessRecord<'_>) -> Vec<String> {
    let texts = [
        LogField::Details,
        LogField::Termination,
        LogField::Flags,
        LogField::Failure,
    ]
    .map(|field| record.get(field));
    let readings = texts
        .iter()
        .filter(|text| !text.is_empty())
        .filter_map(|text| flags::read(text));
    let mut all: Vec<String> = readings.flat_map(|reading| reading.means).collect();
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|text| seen.insert(text.clone()));
    all
}

/// The names that Istio's JSON format has, and ours for the rest.
const NAMES: [(&str, LogField); 24] = [
    ("start_time", LogField::Start),
    ("method", LogField::Method),
    ("path", LogField::Path),
    ("protocol", LogField::Protocol),
    ("response_code_details", LogField::Details),
    ("connection_termination_details", LogField::Termination),
    ("upstream_transport_failure_reason", LogField::Failure),
    ("bytes_received", LogField::Received),
    ("bytes_sent", LogField::Sent),
    ("duration", LogField::Duration),
    ("upstream_service_time", LogField::ServiceTime),
    ("x_forwarded_for", LogField::ForwardedFor),
    ("user_agent", LogField::UserAgent),
    ("request_id", LogField::RequestId),
    ("authority", LogField::Authority),
    ("upstream_host", LogField::UpstreamHost),
    ("upstream_cluster", LogField::Cluster),
    ("upstream_local_address", LogField::UpstreamLocal),
    ("downstream_local_address", LogField::Local),
    ("downstream_remote_address", LogField::Remote),
    ("requested_server_name", LogField::ServerName),
    ("route_name", LogField::Route),
    ("grpc_status", LogField::GrpcStatus),
    ("downstream_local_close_reason", LogField::CloseReason),
];

/// For programs: one object on one line.
pub fn line_json(
    source: &str,
    number: u64,
    record: &AccessRecord<'_>,
    judgement: Judgement,
) -> String {
    let flags: Vec<String> = record.flags().map(escape).collect();
    let mut out = format!(
        "{{\"doc\":{},\"line\":{number},\"response_code\":{},\"response_flags\":[{}],\"by\":\"{}\",\"side\":\"{}\",\"class\":\"{}\",\"grpc\":{}",
        escape(source),
        record.code(),
        flags.join(","),
        judgement.by.id(),
        judgement.side.id(),
        judgement.class.id(),
        judgement.is_grpc,
    );
    for (name, field) in NAMES {
        let value = record.get(field);
        if value.is_empty() {
            continue;
        }
        let _ = write!(out, ",\"{name}\":");
        match (field, record.number(field)) {
            (
                LogField::Received | LogField::Sent | LogField::Duration | LogField::ServiceTime,
                Some(number),
            ) => {
                let _ = write!(out, "{number}");
            }
            _ => escape_into(&mut out, value),
        }
    }
    if !record.others.is_empty() {
        let others = record
            .others
            .iter()
            .map(|(name, value)| format!("{}:{}", escape(name), escape(value)));
        let _ = write!(
            out,
            ",\"other\":{{{}}}",
            others.collect::<Vec<_>>().join(",")
        );
    }
    let means: Vec<String> = if judgement.class == Class::Fine {
        Vec::new()
    } else {
        means(record)
    };
    let means: Vec<String> = means.iter().map(|text| escape(text)).collect();
    let _ = write!(out, ",\"means\":[{}]}}", means.join(","));
    out
}
