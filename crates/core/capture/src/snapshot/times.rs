//! The newest time that documents tell: when a Snapshot was taken, if no manifest says so.
//!
//! Only times that lie in the past when they are written count: a certificate's last day must not
//! become "now".

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::{DocId, Shape};
use meshladder_text::time::Time;

/// Times that Kubernetes sets when something has happened. `time` is that of `managedFields`.
const OBJECT_KEYS: [&str; 11] = [
    "creationTimestamp",
    "lastTransitionTime",
    "lastTimestamp",
    "eventTime",
    "startedAt",
    "finishedAt",
    "startTime",
    "lastHeartbeatTime",
    "lastUpdateTime",
    "renewTime",
    "time",
];

/// 2016-01-01: before it there was no Envoy, so an earlier time is a zero value or nonsense.
const EARLIEST: i64 = 1_451_606_400;

/// Whether such a document can tell a time: others need not be read.
pub(super) fn may_tell(id: &DocId) -> bool {
    match id.shape() {
        Shape::ConfigDump | Shape::ZtunnelDump | Shape::Objects | Shape::IstiodDebug => true,
        // An application may write any time into its log; Istio's own components write the time of
        // the line.
        Shape::Log => ["/istio-proxy.log", "/discovery.log", "/ztunnel.log"]
            .iter()
            .any(|file| id.as_str().ends_with(file)),
        _ => id.as_str().ends_with("/bug-report.log"),
    }
}

/// The newest time a document tells.
pub(super) fn newest(id: &DocId, bytes: &[u8]) -> Option<Time> {
    let newest = match id.shape() {
        Shape::ConfigDump => after(bytes, "\"last_updated\""),
        // A certificate was made before anybody had it.
        Shape::ZtunnelDump => after(bytes, "\"validFrom\""),
        Shape::Objects => keyed(bytes, &OBJECT_KEYS),
        Shape::IstiodDebug => keyed(bytes, &["sentTime", "connectedAt", "creationTimestamp"]),
        _ => lines(bytes),
    };
    newest.filter(|time| time.seconds > EARLIEST)
}

/// The newest of the values that follow one of the names, in JSON or YAML.
fn keyed(bytes: &[u8], keys: &[&str]) -> Option<Time> {
    let names = AhoCorasick::new(keys).ok()?;
    let mut newest = None;
    for name in names.find_iter(bytes) {
        let before = &bytes[..name.start()];
        // The end of a longer name is another name.
        if !matches!(before.last(), None | Some(b'"' | b' ' | b'\n')) {
            continue;
        }
        if keys[name.pattern()] == "time" && !is_managed(before) {
            continue;
        }
        let rest = &bytes[name.end()..];
        newest = newest.max(value(rest.strip_prefix(b"\"").unwrap_or(rest)));
    }
    newest
}

/// In `managedFields` the time stands right after the operation.
fn is_managed(before: &[u8]) -> bool {
    memmem::find(&before[before.len().saturating_sub(120)..], b"operation").is_some()
}

/// The time after a colon, in quotes or not.
fn value(text: &[u8]) -> Option<Time> {
    let text = text.trim_ascii_start().strip_prefix(b":")?;
    match text.trim_ascii_start() {
        [b'"' | b'\'', inside @ ..] => start(inside),
        bare => start(bare),
    }
}

/// The newest time that starts a line: `2026-11-15T06:30:45.652528Z<tab>info…`, Envoy's `[2026-…]
/// "GET …"`, or a line of JSON.
fn lines(bytes: &[u8]) -> Option<Time> {
    let mut newest = None;
    for line in bytes.split(|&b| b == b'\n') {
        let time = match line {
            [b'{', ..] => after(line, "\"start_time\"").max(after(line, "\"time\"")),
            [b'[', rest @ ..] => start(rest),
            _ => start(line),
        };
        newest = newest.max(time);
    }
    newest
}

/// The newest of the values that follow a name in quotes.
fn after(bytes: &[u8], key: &str) -> Option<Time> {
    let mut newest = None;
    for at in memmem::find_iter(bytes, key) {
        newest = newest.max(value(&bytes[at + key.len()..]));
    }
    newest
}

fn start(text: &[u8]) -> Option<Time> {
    let is_part =
        |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b':' | b'.' | b'T' | b'Z');
    let len = text.iter().take(40).take_while(|b| is_part(b)).count();
    Time::parse(std::str::from_utf8(&text[..len]).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> Option<String> {
        let id = DocId::new(path);
        if may_tell(&id) {
            newest(&id, text.as_bytes()).map(|time| time.to_string())
        } else {
            None
        }
    }

    #[test]
    fn each_kind_of_document_tells_the_newest_time_it_was_written_with() {
        for (path, text, time) in [
            (
                "proxies/shop/a/config_dump.json",
                r#"{"last_updated": "2026-11-15T06:30:45.5Z", "x": {"last_updated":"2026-11-15T06:30:44Z"}}"#,
                "2026-11-15T06:30:45.5Z",
            ),
            (
                "k8s/pods.json",
                r#"{"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "lastTransitionTime":"2026-01-02T00:00:00Z"}"#,
                "2026-01-02T00:00:00Z",
            ),
            (
                "k8s/a.yaml",
                "metadata:\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n",
                "2026-01-01T00:00:00Z",
            ),
            (
                "k8s/a.yaml",
                "startTime: 2026-01-01T00:00:00+02:00\n",
                "2025-12-31T22:00:00Z",
            ),
            (
                "k8s/pods.json",
                r#"{"manager": "m", "operation": "Update", "time": "2026-01-03T00:00:00Z"}"#,
                "2026-01-03T00:00:00Z",
            ),
            (
                "istiod/i/debug/syncz.json",
                r#"[{"sentTime":"2026-01-01T00:00:01Z"}]"#,
                "2026-01-01T00:00:01Z",
            ),
            (
                "logs/shop/a/istio-proxy.log",
                "2026-01-01T00:00:01.5Z\tinfo\tx\n[2026-01-01T00:00:02Z] \"GET /\"\n",
                "2026-01-01T00:00:02Z",
            ),
            (
                "logs/shop/a/istio-proxy.log",
                r#"{"level":"info","time":"2026-01-01T00:00:03Z"}"#,
                "2026-01-01T00:00:03Z",
            ),
            (
                "2/other/bug-report.log",
                "2026-01-01T00:00:04Z\terror\tx",
                "2026-01-01T00:00:04Z",
            ),
        ] {
            assert_eq!(told(path, text).as_deref(), Some(time), "{path}: {text}");
        }
    }

    #[test]
    fn the_end_of_a_certificate_or_a_schedule_is_not_now() {
        for (path, text) in [
            (
                "proxies/shop/a/certs.json",
                r#"{"expiration_time": "2036-11-12T06:30:40Z"}"#,
            ),
            (
                "k8s/x.json",
                r#"{"notAfter": "2036-11-12T06:30:40Z", "deletionTimestamp": "2036-11-12T06:30:40Z"}"#,
            ),
            (
                "k8s/x.json",
                r#"{"spec": {"time": "2036-11-12T06:30:40Z"}}"#,
            ),
            ("k8s/x.yaml", "    creationTimestamp: null\n"),
            (
                "k8s/x.json",
                r#"{"creationTimestamp": "0001-01-01T00:00:00Z"}"#,
            ),
            ("logs/shop/a/app.log", "2036-11-12T06:30:40Z next run\n"),
            (
                "logs/shop/a/istio-proxy.log",
                "valid until 2036-11-12T06:30:40Z\n",
            ),
        ] {
            assert_eq!(told(path, text), None, "{path}: {text}");
        }
    }
}
