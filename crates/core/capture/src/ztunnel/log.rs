//! ztunnel's log: access lines, as text or as JSON, taken apart.
//!
//! Plain: time, level, scope and message, tab separated (people paste them with spaces), then
//! `key=value` pairs; strings in quotes with escapes, the rest bare. With `LOG_FORMAT=json` an
//! object with the same dotted names.

use std::borrow::Cow;

use meshladder_text::json::{Raw, unescape};

/// A line about a connection. What it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZtunnelLine {
    /// When the connection ended, as written.
    pub time: String,
    /// `info`, `warn` or `error`.
    pub level: String,
    /// `connection complete`, `connection failed`, `connection opened`
    pub message: String,
    /// The peer that called.
    pub source: LinePeer,
    /// The peer that was called: behind a waypoint, the waypoint.
    pub destination: LinePeer,
    /// What the tunnel was asked to lead to: address and port, or a host name.
    pub hbone_address: String,
    /// The service that was called.
    pub service: String,
    /// `inbound` or `outbound`
    pub direction: String,
    /// Bytes as this side has them.
    pub bytes_sent: String,
    /// Bytes as this side has them.
    pub bytes_received: String,
    /// `12ms`
    pub duration: String,
    /// Why it failed; empty when it did not.
    pub error: String,
}

/// One end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinePeer {
    /// Address and port.
    pub address: String,
    /// The pod.
    pub workload: String,
    /// Its namespace.
    pub namespace: String,
    /// Its identity; none when the hop is plain text.
    pub identity: String,
}

impl ZtunnelLine {
    /// Takes a line apart; none for one that is not about a connection.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('{') {
            return Self::of_json(Raw::of(line).ok()?);
        }
        let (time, rest) = word(line)?;
        let (level, rest) = word(rest)?;
        let (scope, rest) = word(rest)?;
        if scope != "access" || !time.contains('T') {
            return None;
        }
        let start = rest.find("src.addr=")?;
        let mut parsed = Self {
            time: time.to_owned(),
            level: level.to_ascii_lowercase(),
            message: rest[..start].trim().to_owned(),
            ..Self::default()
        };
        for (key, value) in pairs(&rest[start..]) {
            parsed.set(key, value);
        }
        Some(parsed)
    }

    fn of_json(raw: Raw<'_>) -> Option<Self> {
        if raw.string_at("scope")? != "access" {
            return None;
        }
        let mut parsed = Self::default();
        for (key, value) in raw.members() {
            let text = value
                .string()
                .unwrap_or_else(|| Cow::Borrowed(value.text()));
            match &*key {
                "level" => parsed.level = text.to_ascii_lowercase(),
                "time" => parsed.time = text.into_owned(),
                "message" => parsed.message = text.into_owned(),
                key => parsed.set(key, text),
            }
        }
        (!parsed.direction.is_empty()).then_some(parsed)
    }

    fn set(&mut self, key: &str, value: Cow<'_, str>) {
        let place = match key {
            "src.addr" => &mut self.source.address,
            "src.workload" => &mut self.source.workload,
            "src.namespace" => &mut self.source.namespace,
            "src.identity" => &mut self.source.identity,
            "dst.addr" => &mut self.destination.address,
            "dst.workload" => &mut self.destination.workload,
            "dst.namespace" => &mut self.destination.namespace,
            "dst.identity" => &mut self.destination.identity,
            "dst.hbone_addr" => &mut self.hbone_address,
            "dst.service" => &mut self.service,
            "direction" => &mut self.direction,
            "bytes_sent" => &mut self.bytes_sent,
            "bytes_recv" => &mut self.bytes_received,
            "duration" => &mut self.duration,
            "error" => &mut self.error,
            _ => return,
        };
        *place = value.into_owned();
    }

    /// Whether the connection failed or was refused.
    pub fn is_failed(&self) -> bool {
        !self.error.is_empty()
    }

    /// Whether this ztunnel is the destination's.
    pub fn is_inbound(&self) -> bool {
        self.direction == "inbound"
    }

    /// What the error means.
    pub fn fault(&self) -> Option<ZtunnelFault<'_>> {
        self.is_failed().then(|| ZtunnelFault::of(&self.error))
    }
}

/// What an error text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZtunnelFault<'l> {
    /// A DENY policy matched, or one that istiod made of STRICT: `namespace/name`.
    Denied(&'l str),
    /// There are ALLOW policies, and none matched.
    NotAllowed,
    /// A policy refused it; which, it does not say.
    Refused,
    /// The next hop's ztunnel refused by policy.
    RefusedThere,
    /// The next hop could not connect to the application.
    UnavailableThere,
    /// The application refused or did not answer.
    Application(&'l str),
    /// Nothing answered at port 15008.
    TunnelTimeout,
    /// The connection to the next hop failed.
    Io(&'l str),
    /// The two ends do not agree on certificates.
    Tls(&'l str),
    /// A certificate could not be had.
    Identity(&'l str),
    /// The pod itself is not known to its ztunnel.
    UnknownSource(&'l str),
    /// The waypoint that is named is not known, or has no endpoint.
    UnknownWaypoint(&'l str),
    /// The service has no endpoint for that port.
    NoHealthyUpstream(&'l str),
    /// Something else.
    Other(&'l str),
}

impl<'l> ZtunnelFault<'l> {
    /// Reads an error text.
    pub fn of(error: &'l str) -> Self {
        const REJECTED: &str = "connection closed due to policy rejection";
        if let Some(rest) = error.strip_prefix(REJECTED) {
            return match rest.strip_prefix(": ") {
                Some("allow policies exist, but none allowed") => Self::NotAllowed,
                Some(rest) => rest
                    .strip_prefix("explicitly denied by: ")
                    .map_or(Self::Refused, Self::Denied),
                None => Self::Refused,
            };
        }
        if error.starts_with("connection timed out, maybe a NetworkPolicy") {
            return Self::TunnelTimeout;
        }
        let (head, rest) = error.split_once(": ").unwrap_or((error, ""));
        match head {
            "http status" if rest.starts_with("401") => Self::RefusedThere,
            "http status" if rest.starts_with("503") => Self::UnavailableThere,
            "connection failed" => Self::Application(rest),
            "io error" => Self::Io(rest),
            "tls error" if rest.starts_with("signing error") => Self::Identity(rest),
            "tls error" => Self::Tls(rest),
            "identity error" => Self::Identity(rest),
            "failed to fetch information about local workload" | "unknown source" => {
                Self::UnknownSource(rest)
            }
            "unknown waypoint" => Self::UnknownWaypoint(rest),
            "no healthy upstream" => Self::NoHealthyUpstream(rest),
            _ => Self::Other(error),
        }
    }
}

/// The first word and what follows; pasted lines are padded with spaces.
fn word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(['\t', ' '])?;
    Some((word, rest.trim_start()))
}

/// `key=value` pairs, strings in quotes.
fn pairs(text: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let (key, behind) = rest.split_once('=')?;
        let (value, after) = if let Some(inside) = behind.strip_prefix('"') {
            let end = end_of_string(inside);
            let after = inside.get(end + 1..).unwrap_or_default();
            (unescape(&inside[..end]), after)
        } else {
            let end = behind.find([' ', '\t']).unwrap_or(behind.len());
            (Cow::Borrowed(&behind[..end]), &behind[end..])
        };
        rest = after;
        Some((key, value))
    })
}

/// Where the closing quote stands, or the end of a line that is cut short.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "2026-11-16T00:39:40.406489Z\terror\taccess\tconnection complete\tsrc.addr=10.244.1.125:35616 src.workload=\"legacy-client-1\" src.namespace=\"legacy\" dst.addr=10.244.2.185:8080 dst.service=\"frontend.shop.svc.cluster.local\" dst.workload=\"frontend-1\" dst.namespace=\"shop\" direction=\"inbound\" bytes_sent=0 bytes_recv=0 duration=\"0ms\" error=\"connection closed due to policy rejection: explicitly denied by: istio-system/istio_converted_static_strict\"";

    #[test]
    fn a_line_is_taken_apart_with_tabs_or_with_spaces() {
        let line = ZtunnelLine::parse(LINE).expect("an access line");
        assert_eq!(
            (&*line.level, &*line.message),
            ("error", "connection complete")
        );
        assert_eq!(line.source.workload, "legacy-client-1");
        assert_eq!((&*line.source.identity, line.is_inbound()), ("", true));
        assert_eq!(
            line.fault(),
            Some(ZtunnelFault::Denied(
                "istio-system/istio_converted_static_strict"
            ))
        );
        let pasted = LINE.replace('\t', "   ");
        assert_eq!(
            ZtunnelLine::parse(&pasted).map(|line| line.error),
            Some(line.error)
        );
    }

    #[test]
    fn json_lines_say_the_same() {
        let json = r#"{"level":"error","time":"2026-11-16T00:39:40Z","scope":"access","src.addr":"10.0.0.1:1","src.workload":"a","dst.addr":"10.0.0.2:15008","direction":"outbound","bytes_sent":3,"error":"http status: 401 Unauthorized","message":"connection complete"}"#;
        let line = ZtunnelLine::parse(json).expect("an access line");
        assert_eq!(
            (&*line.bytes_sent, line.fault()),
            ("3", Some(ZtunnelFault::RefusedThere))
        );
    }

    #[test]
    fn other_lines_are_not_about_connections() {
        for line in [
            "",
            "2026-11-16T00:39:40Z\tinfo\txds\tStream established",
            "[2026-11-16T00:39:38.250Z] \"GET / HTTP/1.1\" 200 -",
            "{\"level\":\"info\",\"scope\":\"xds\"}",
            "{",
        ] {
            assert_eq!(ZtunnelLine::parse(line), None, "{line}");
        }
        // A line that is cut short says what it has.
        let cut = &LINE[..LINE.find("legacy\"").expect("it is there") + 3];
        assert_eq!(
            ZtunnelLine::parse(cut).expect("a line").source.namespace,
            "leg"
        );
    }

    #[test]
    fn every_error_text_has_its_meaning() {
        for (text, fault) in [
            (
                "connection closed due to policy rejection: allow policies exist, but none allowed",
                ZtunnelFault::NotAllowed,
            ),
            (
                "connection closed due to policy rejection",
                ZtunnelFault::Refused,
            ),
            (
                "connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008: deadline has elapsed",
                ZtunnelFault::TunnelTimeout,
            ),
            (
                "io error: Connection refused (os error 111)",
                ZtunnelFault::Io("Connection refused (os error 111)"),
            ),
            (
                "unknown waypoint: shop/w",
                ZtunnelFault::UnknownWaypoint("shop/w"),
            ),
            (
                "no healthy upstream: 10.96.3.3:80",
                ZtunnelFault::NoHealthyUpstream("10.96.3.3:80"),
            ),
            (
                "http status: 503 Service Unavailable",
                ZtunnelFault::UnavailableThere,
            ),
            ("pool draining", ZtunnelFault::Other("pool draining")),
        ] {
            assert_eq!(ZtunnelFault::of(text), fault, "{text}");
        }
    }
}
