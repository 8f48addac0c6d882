//! One line of a log, decoded.

use std::fmt::Write;

use super::shown;
use crate::json::{Pairs, to_line};
use meshladder_capture::access_log::{AccessRecord, LogField};
use meshladder_capture::flags;
use meshladder_judge::logs::{AnswerClass, LineJudgement};
use serde::Serialize;

/// For people: when, where, what, how it ended, who ended it and why.
pub fn line_text(
    source: &str,
    number: u64,
    record: &AccessRecord<'_>,
    judgement: LineJudgement,
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
    if judgement.class != AnswerClass::Fine {
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
    judgement: LineJudgement,
) -> String {
    let mut fields = Vec::new();
    for (name, field) in NAMES {
        let value = record.get(field);
        if !value.is_empty() {
            fields.push((name, FieldJson::of(field, value, record.number(field))));
        }
    }
    let means = if judgement.class == AnswerClass::Fine {
        Vec::new()
    } else {
        means(record)
    };
    let mut others = Vec::new();
    for (name, value) in &record.others {
        others.push((&**name, &**value));
    }
    to_line(&RecordJson {
        doc: source,
        line: number,
        response_code: record.code(),
        response_flags: record.flags().collect(),
        by: judgement.by.id(),
        side: judgement.side.id(),
        class: judgement.class.id(),
        grpc: judgement.is_grpc,
        fields: Pairs(fields),
        other: (!others.is_empty()).then_some(Pairs(others)),
        means,
    })
}

#[derive(Serialize)]
struct RecordJson<'a> {
    doc: &'a str,
    line: u64,
    response_code: u16,
    response_flags: Vec<&'a str>,
    by: &'static str,
    side: &'static str,
    class: &'static str,
    grpc: bool,
    /// Those of [`NAMES`] that the line has.
    #[serde(flatten)]
    fields: Pairs<&'static str, FieldJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Pairs<&'a str, &'a str>>,
    means: Vec<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum FieldJson<'a> {
    Number(u64),
    Text(&'a str),
}

impl<'a> FieldJson<'a> {
    /// Sizes and times are numbers; what is not one there stays as it was written.
    fn of(field: LogField, text: &'a str, number: Option<u64>) -> Self {
        match (field, number) {
            (
                LogField::Received | LogField::Sent | LogField::Duration | LogField::ServiceTime,
                Some(number),
            ) => Self::Number(number),
            _ => Self::Text(text),
        }
    }
}
