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
mod tunnel;
mod wrapping;

pub use field::LogField;
pub use format::{JsonFormat, LogFormat, TextFormat};
pub use reader::{FormatList, LineKind, LogReader};
pub use record::AccessRecord;

/// One request, as a proxy logged it. `-` in the log is empty here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLine {
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
pub fn lines(doc: &Document) -> impl Iterator<Item = AccessLine> {
    static OWN: FormatList = FormatList::OWN;
    lines_in(doc, &OWN)
}

/// As [`lines`], with other formats besides.
pub fn lines_in<'d>(
    doc: &'d Document,
    formats: &'d FormatList,
) -> impl Iterator<Item = AccessLine> + use<'d> {
    let mut reader = formats.reader();
    let numbered = (1..).zip(doc.text.lines());
    numbered.filter_map(move |(number, text)| {
        let LineKind::Access(record) = reader.read(text) else {
            return None;
        };
        Some(AccessLine {
            doc: doc.id.to_string(),
            number,
            ..AccessLine::from(&record)
        })
    })
}

/// Reads one line in a format of Istio's or Envoy's own; none for anything that is no access log.
pub fn parse(text: &str) -> Option<AccessLine> {
    match FormatList::default().reader().read(text) {
        LineKind::Access(record) => Some(AccessLine::from(&record)),
        _ => None,
    }
}

impl AccessLine {
    /// Whether that flag is set.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// The path without its query.
    pub fn path_only(&self) -> &str {
        self.path.split(['?', '#']).next().unwrap_or_default()
    }
}

impl From<&AccessRecord<'_>> for AccessLine {
    fn from(record: &AccessRecord<'_>) -> Self {
        let text = |field| record.get(field).to_owned();
        Self {
            doc: String::new(),
            number: 0,
            start: text(LogField::Start),
            method: text(LogField::Method),
            path: text(LogField::Path),
            protocol: text(LogField::Protocol),
            code: record.code(),
            flags: record.flags().map(str::to_owned).collect(),
            details: text(LogField::Details),
            termination: text(LogField::Termination),
            failure: text(LogField::Failure),
            duration: record.number(LogField::Duration),
            authority: text(LogField::Authority),
            upstream_host: text(LogField::UpstreamHost),
            cluster: text(LogField::Cluster),
            upstream_local: text(LogField::UpstreamLocal),
            local: text(LogField::Local),
            remote: text(LogField::Remote),
            server_name: text(LogField::ServerName),
            route: text(LogField::Route),
            request_id: text(LogField::RequestId),
        }
    }
}

#[cfg(test)]
mod tests;
