//! Lines of access logs: Istio's and Envoy's own formats of all releases, and any other that is
//! given.

use crate::snapshot::Document;

mod builtin;
mod clock;
mod field;
mod format;
mod json;
mod reader;
mod record;
mod wrapping;

pub use field::Field;
pub use format::{Format, JsonFormat, TextFormat};
pub use reader::{Formats, Reader, Reading};
pub use record::Record;

/// One request, as a proxy logged it. `-` in the log is empty here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The log, as a document's id.
    pub doc: String,
    /// The line in it, counted from 1.
    pub number: usize,
    /// When it started, RFC 3339.
    pub start: String,
    /// Method.
    pub method: String,
    /// Path and query, as the client sent it.
    pub path: String,
    /// `HTTP/1.1`; empty for TCP.
    pub protocol: String,
    /// Status; 0 when none was sent.
    pub code: u16,
    /// Response flags.
    pub flags: Vec<String>,
    /// Response code details.
    pub details: String,
    /// `CONNECTION_TERMINATION_DETAILS`
    pub termination: String,
    /// Why the connection to the upstream failed.
    pub failure: String,
    /// Milliseconds.
    pub duration: Option<u64>,
    /// The authority.
    pub authority: String,
    /// `ip:port` of the upstream.
    pub upstream_host: String,
    /// The cluster.
    pub cluster: String,
    /// This proxy's end of the connection to the upstream.
    pub upstream_local: String,
    /// Where the client connected to.
    pub local: String,
    /// The client's address.
    pub remote: String,
    /// The server name the client sent.
    pub server_name: String,
    /// The route.
    pub route: String,
    /// `x-request-id`
    pub request_id: String,
}

/// The lines of a log that are access-log lines, in a format of Istio's or Envoy's own.
pub fn lines(doc: &Document) -> impl Iterator<Item = Line> {
    static OWN: Formats = Formats::OWN;
    lines_in(doc, &OWN)
}

/// The same with other formats besides.
pub fn lines_in<'d>(
    doc: &'d Document,
    formats: &'d Formats,
) -> impl Iterator<Item = Line> + use<'d> {
    let mut reader = formats.reader();
    doc.text
        .lines()
        .enumerate()
        .filter_map(move |(i, text)| match reader.read(text) {
            Reading::Access(record) => Some(Line {
                doc: doc.id.to_string(),
                number: i + 1,
                ..Line::from(&record)
            }),
            _ => None,
        })
}

/// Reads one line in a format of Istio's or Envoy's own; none for anything that is no access log.
pub fn parse(text: &str) -> Option<Line> {
    match Formats::default().reader().read(text) {
        Reading::Access(record) => Some(Line::from(&record)),
        _ => None,
    }
}

impl Line {
    /// Whether that flag is set.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// The path without its query.
    pub fn path_only(&self) -> &str {
        self.path.split(['?', '#']).next().unwrap_or_default()
    }
}

impl From<&Record<'_>> for Line {
    fn from(record: &Record<'_>) -> Self {
        let text = |field| record.get(field).to_owned();
        Self {
            doc: String::new(),
            number: 0,
            start: text(Field::Start),
            method: text(Field::Method),
            path: text(Field::Path),
            protocol: text(Field::Protocol),
            code: record.code(),
            flags: record.flags().map(str::to_owned).collect(),
            details: text(Field::Details),
            termination: text(Field::Termination),
            failure: text(Field::Failure),
            duration: record.number(Field::Duration),
            authority: text(Field::Authority),
            upstream_host: text(Field::UpstreamHost),
            cluster: text(Field::Cluster),
            upstream_local: text(Field::UpstreamLocal),
            local: text(Field::Local),
            remote: text(Field::Remote),
            server_name: text(Field::ServerName),
            route: text(Field::Route),
            request_id: text(Field::RequestId),
        }
    }
}

#[cfg(test)]
mod tests;
