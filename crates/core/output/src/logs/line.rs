//! One line of a log, decoded.

use std::fmt::Write;

use super::shown;
use crate::json::{Pairs, to_line};
use meshladder_capture::access_log::{Field, Record};
use meshladder_capture::flags;
use meshladder_judge::logs::{Class, Judgement};
use serde::Serialize;

/// For people: when, where, what, how it ended, who ended it and why.
pub fn line_text(source: &str, number: u64, record: &Record<'_>, judgement: Judgement) -> String {
    let get = |field| shown(record.get(field));
    let call = if record.is_connection() {
        format!("connection to {}", get(Field::Local))
    } else {
        format!(
            "{} {}{}",
            get(Field::Method),
            get(Field::Authority),
            get(Field::Path)
        )
    };
    let flags = record.get(Field::Flags);
    let mut out = format!(
        "{source}:{number}: {} {call}: {}",
        get(Field::Start),
        record.code()
    );
    for part in [flags, record.get(Field::Details)]
        .into_iter()
        .filter(|part| !part.is_empty())
    {
        let _ = write!(out, " {}", shown(part));
    }
    let _ = write!(out, " by {}", judgement.by.words());
    if judgement.side.id() != "unknown" {
        let _ = write!(out, " at the {}", judgement.side.id());
    }
    for (what, field) in [("to", Field::UpstreamHost), ("by way of", Field::Cluster)] {
        if !record.get(field).is_empty() {
            let _ = write!(out, " {what} {}", get(field));
        }
    }
    if let Some(ms) = record.number(Field::Duration) {
        let _ = write!(out, ", {ms} ms");
    }
    if !record.get(Field::RequestId).is_empty() {
        let _ = write!(out, ", id {}", get(Field::RequestId));
    }
    if judgement.class != Class::Fine {
        for text in means(record) {
            let _ = write!(out, "\n    {}", shown(&text));
        }
    }
    out
}

fn means(record: &Record<'_>) -> Vec<String> {
    let texts = [
        Field::Details,
        Field::Termination,
        Field::Flags,
        Field::Failure,
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
const NAMES: [(&str, Field); 24] = [
    ("start_time", Field::Start),
    ("method", Field::Method),
    ("path", Field::Path),
    ("protocol", Field::Protocol),
    ("response_code_details", Field::Details),
    ("connection_termination_details", Field::Termination),
    ("upstream_transport_failure_reason", Field::Failure),
    ("bytes_received", Field::Received),
    ("bytes_sent", Field::Sent),
    ("duration", Field::Duration),
    ("upstream_service_time", Field::ServiceTime),
    ("x_forwarded_for", Field::ForwardedFor),
    ("user_agent", Field::UserAgent),
    ("request_id", Field::RequestId),
    ("authority", Field::Authority),
    ("upstream_host", Field::UpstreamHost),
    ("upstream_cluster", Field::Cluster),
    ("upstream_local_address", Field::UpstreamLocal),
    ("downstream_local_address", Field::Local),
    ("downstream_remote_address", Field::Remote),
    ("requested_server_name", Field::ServerName),
    ("route_name", Field::Route),
    ("grpc_status", Field::GrpcStatus),
    ("downstream_local_close_reason", Field::CloseReason),
];

/// For programs: one object on one line.
pub fn line_json(source: &str, number: u64, record: &Record<'_>, judgement: Judgement) -> String {
    let mut fields = Vec::new();
    for (name, field) in NAMES {
        let value = record.get(field);
        if !value.is_empty() {
            fields.push((name, FieldJson::of(field, value, record.number(field))));
        }
    }
    let means = if judgement.class == Class::Fine {
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
    fn of(field: Field, text: &'a str, number: Option<u64>) -> Self {
        match (field, number) {
            (
                Field::Received | Field::Sent | Field::Duration | Field::ServiceTime,
                Some(number),
            ) => Self::Number(number),
            _ => Self::Text(text),
        }
    }
}
