//! What others put around a line on its way: the container runtime, kubectl, a log shipper.

use std::borrow::Cow;

use meshladder_text::json::Raw;
use meshladder_text::time::Time;

/// A line without what was put around it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InnerLine<'a> {
    pub(super) text: Cow<'a, str>,
    /// The runtime has cut a long line here; the next one goes on.
    pub(super) is_part: bool,
}

/// Takes off a prefix of kubectl (`[pod/x/istio-proxy] `), a time (`kubectl logs --timestamps`),
/// the container runtime's (`<time> stdout F `), and an object that carries the line as text. None
/// when there is none of them.
pub(super) fn unwrap(line: &str) -> Option<InnerLine<'_>> {
    let mut text = line;
    if let Some(rest) = text.strip_prefix("[pod/") {
        text = rest.split_once("] ")?.1;
    }
    let mut is_part = false;
    if let Some(rest) = behind_time(text) {
        (text, is_part) = behind_stream(rest).unwrap_or((rest, false));
    }
    let text = if text.len() < line.len() {
        Cow::Borrowed(text)
    } else {
        carried(line)?
    };
    Some(InnerLine { text, is_part })
}

/// What other programs in the container write, such as
/// `2026-11-15T06:30:49.298228Z\tinfo\tStarting`: a time, a tab and a level.
pub(super) fn is_of_agent(line: &str) -> bool {
    let mut parts = line.splitn(3, '\t');
    let (Some(time), Some(level), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    level.len() < 10 && Time::parse(time).is_some()
}

fn behind_time(text: &str) -> Option<&str> {
    // Nearly no line starts with a digit, and then there is nothing to search for.
    if !text.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let (time, rest) = text.split_once(' ')?;
    Time::parse(time)?;
    Some(rest)
}

/// The container runtime interface's `stdout F `, where F is a full line and P a part of one.
fn behind_stream(text: &str) -> Option<(&str, bool)> {
    let (stream, rest) = text.split_once(' ')?;
    if !matches!(stream, "stdout" | "stderr") {
        return None;
    }
    match rest.split_once(' ')? {
        ("F", line) => Some((line, false)),
        ("P", line) => Some((line, true)),
        _ => None,
    }
}

/// `{"log":"…\n","stream":"stdout"}`, as Docker and log shippers write it.
fn carried(line: &str) -> Option<Cow<'_, str>> {
    if !line.starts_with('{') {
        return None;
    }
    for (key, value) in Raw::of(line).ok()?.members() {
        if !matches!(&*key, "log" | "message" | "msg" | "textPayload" | "line") {
            continue;
        }
        return Some(match value.string()? {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
            Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_come_off() {
        for (line, text, is_part) in [
            ("[pod/cart-1/istio-proxy] [2026", "[2026", false),
            ("2026-11-15T06:31:02.101123Z stdout F [2026", "[2026", false),
            ("2026-11-15T06:31:02.101123Z stderr P [2026", "[2026", true),
            ("2026-11-15T06:31:02.101123456Z [2026", "[2026", false),
            (
                "[pod/cart-1/istio-proxy] 2026-11-15T06:31:02Z {\"a\":1}",
                "{\"a\":1}",
                false,
            ),
            (
                r#"{"log":"say \"x\"\n","stream":"stdout"}"#,
                "say \"x\"",
                false,
            ),
        ] {
            assert_eq!(
                unwrap(line),
                Some(InnerLine {
                    text: text.into(),
                    is_part
                }),
                "{line}"
            );
        }
        for line in ["[2026", "hello", "2026 is a number", "{\"a\":1}", "[pod/x"] {
            assert_eq!(unwrap(line), None, "{line}");
        }
    }

    #[test]
    fn the_agent_s_lines_are_known() {
        assert!(is_of_agent("2026-11-15T06:30:49.298228Z\tinfo\tStarting"));
        assert!(!is_of_agent(
            "[2026-11-15T06:30:49.298Z] \"GET\t/ HTTP/1.1\""
        ));
    }
}
