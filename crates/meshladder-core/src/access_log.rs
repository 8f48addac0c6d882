//! Lines of access logs: Istio's default text format, and its JSON.

use crate::doc::json::Raw;
use crate::snapshot::Document;

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

/// The lines of a log that are access-log lines.
pub fn lines(doc: &Document) -> impl Iterator<Item = Line> {
    doc.text.lines().enumerate().filter_map(|(i, text)| {
        let line = parse(text)?;
        Some(Line { doc: doc.id.to_string(), number: i + 1, ..line })
    })
}

/// Reads one line; none for anything that is no access log.
pub fn parse(text: &str) -> Option<Line> {
    match text.as_bytes().first()? {
        b'[' => parse_text(text),
        b'{' => parse_json(text),
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

/// Istio's default: `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE%
/// %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%"
/// %BYTES_RECEIVED% %BYTES_SENT% %DURATION% … "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% …`
fn parse_text(text: &str) -> Option<Line> {
    let fields = fields(text);
    if fields.len() < 17 {
        return None;
    }
    let value = |i: usize| fields.get(i).map(|f| dash(f)).unwrap_or_default();
    let mut request = fields.get(1)?.split(' ');
    let mut part = || request.next().map(dash).unwrap_or_default();
    Some(Line {
        start: value(0),
        method: part(),
        path: part(),
        protocol: part(),
        code: fields.get(2)?.parse().ok()?,
        flags: flags(fields.get(3)?),
        details: value(4),
        termination: value(5),
        failure: value(6),
        duration: fields.get(9)?.parse().ok(),
        request_id: value(13),
        authority: value(14),
        upstream_host: value(15),
        cluster: value(16),
        local: value(18),
        remote: value(19),
        server_name: value(20),
        route: value(21),
        ..Line::default()
    })
}

fn parse_json(text: &str) -> Option<Line> {
    let raw = Raw::of(text).ok()?;
    let value = |key| raw.string_at(key).map(|v| dash(&v)).unwrap_or_default();
    let number = |key| raw.get(key).and_then(|v| v.number().or_else(|| v.string()?.parse().ok()));
    Some(Line {
        start: value("start_time"),
        method: value("method"),
        path: value("path"),
        protocol: value("protocol"),
        code: u16::try_from(number("response_code")?).ok()?,
        flags: flags(&value("response_flags")),
        details: value("response_code_details"),
        termination: value("connection_termination_details"),
        failure: value("upstream_transport_failure_reason"),
        duration: number("duration"),
        request_id: value("request_id"),
        authority: value("authority"),
        upstream_host: value("upstream_host"),
        cluster: value("upstream_cluster"),
        local: value("downstream_local_address"),
        remote: value("downstream_remote_address"),
        server_name: value("requested_server_name"),
        route: value("route_name"),
        ..Line::default()
    })
}

fn flags(text: &str) -> Vec<String> {
    text.split(',').filter(|f| !f.is_empty() && *f != "-").map(str::to_owned).collect()
}

fn dash(text: &str) -> String {
    if text == "-" { String::new() } else { text.to_owned() }
}

/// Words, where quotes and brackets hold several together.
fn fields(text: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        let close = match rest.as_bytes()[0] {
            b'"' => Some('"'),
            b'[' => Some(']'),
            _ => None,
        };
        let (field, after) = match close {
            Some(close) => rest[1..].split_once(close).unwrap_or((&rest[1..], "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        fields.push(field);
        rest = after.trim_start_matches(' ');
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn istio_s_text_format_is_read_field_by_field() {
        let text = r#"[2026-11-15T06:31:02.101Z] "GET /debug/health?x=1 HTTP/1.1" 503 UF,URX upstream_reset_before_response_started{connection_failure} - "delayed connect error: 111" 0 152 1004 - "-" "curl/8" "a-b" "cart.shop:8080" "10.244.1.9:8080" outbound|8080||cart.shop.svc.cluster.local - 10.96.0.7:8080 10.244.1.4:4040 - default"#;
        let line = parse(text).expect("it is a line");
        assert_eq!((line.code, line.method.as_str(), line.path_only()), (503, "GET", "/debug/health"));
        assert_eq!(line.flags, ["UF", "URX"]);
        assert_eq!(line.failure, "delayed connect error: 111");
        assert_eq!(
            (line.duration, line.authority.as_str(), line.upstream_host.as_str()),
            (Some(1004), "cart.shop:8080", "10.244.1.9:8080")
        );
        assert_eq!(
            (line.cluster.as_str(), line.route.as_str()),
            ("outbound|8080||cart.shop.svc.cluster.local", "default")
        );
        assert_eq!(
            (line.local.as_str(), line.remote.as_str(), line.server_name.as_str()),
            ("10.96.0.7:8080", "10.244.1.4:4040", "")
        );
    }

    #[test]
    fn what_is_no_access_log_is_left_alone() {
        for text in
            ["", "2026-11-15T06:30:49.298228Z\tinfo\tStarting", "[Envoy (Epoch 0)] [2026]", "{\"level\":\"info\"}"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        let json = r#"{"start_time":"t","response_code":403,"response_flags":"-","authority":"a","duration":"7"}"#;
        let line = parse(json).expect("it is a line");
        assert_eq!((line.code, line.flags.len(), line.duration), (403, 0, Some(7)));
    }
}
