//! Writing over secrets, in place: the text never grows, keeps its lines, and stays JSON or YAML if
//! it was.

use std::cmp::Reverse;
use std::ops::Range;

use super::flow;
use meshladder_text::tree::Value;

const REDACTED: &[u8] = b"[redacted]";

/// Stands where there is no room for quotes: text, as what was there.
const SHORT: &[u8] = b"_";

/// How much of a line is looked at before and behind a secret.
const MAX_LINE: usize = 1024;

/// Where a secret is and what may be written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretMark {
    pub range: Range<usize>,
    pub form: SecretForm,
}

/// What kind of text a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretForm {
    /// A whole YAML plain scalar: `[redacted]` would be a list there and `***` an alias, so it gets
    /// quotes.
    Plain,
    /// A JSON number, `true` or `false`.
    Number,
    /// A part of a plain scalar inside `{}` or `[]`, where brackets have a meaning.
    InFlow,
    /// A string, or a part of one.
    Text,
}

/// Writes over every mark and closes the gaps; returns how many secrets that were.
pub(super) fn apply(bytes: &mut Vec<u8>, marks: Vec<SecretMark>) -> usize {
    let marks = merge(marks);
    let mut text = Compaction {
        bytes,
        read: 0,
        write: 0,
    };
    for mark in &marks {
        text.keep(mark.range.start);
        text.cover(mark);
    }
    text.keep(text.bytes.len());
    let length = text.write;
    bytes.truncate(length);
    marks.len()
}

/// Marks in order, those that overlap made one.
fn merge(mut marks: Vec<SecretMark>) -> Vec<SecretMark> {
    marks.sort_by_key(|mark| (mark.range.start, Reverse(mark.range.end), mark.form));
    let mut merged: Vec<SecretMark> = Vec::with_capacity(marks.len());
    for mark in marks {
        match merged.last_mut() {
            Some(last) if mark.range.start < last.range.end => {
                last.range.end = last.range.end.max(mark.range.end)
            }
            _ => merged.push(mark),
        }
    }
    merged
}

/// A text that is rewritten from left to right within its own bytes.
struct Compaction<'a> {
    bytes: &'a mut [u8],
    read: usize,
    write: usize,
}

impl Compaction<'_> {
    fn keep(&mut self, end: usize) {
        if self.read != self.write {
            self.bytes.copy_within(self.read..end, self.write);
        }
        self.write += end - self.read;
        self.read = end;
    }

    fn put(&mut self, parts: [&[u8]; 3]) {
        for part in parts {
            self.bytes[self.write..self.write + part.len()].copy_from_slice(part);
            self.write += part.len();
        }
    }

    /// Line by line, so that all that follows stays on its line, and a block scalar stays indented.
    fn cover(&mut self, SecretMark { range, form }: &SecretMark) {
        let mut is_first = true;
        while self.read < range.end {
            let line = &self.bytes[self.read..range.end];
            let line =
                &line[..memchr::memchr(b'\n', line).map_or(line.len(), |newline| newline + 1)];
            let indent = if is_first {
                0
            } else {
                line.len() - line.trim_ascii_start().len()
            };
            let content = line[indent..].trim_ascii_end().len();
            let end = self.read + line.len();
            self.keep(self.read + indent);
            if is_first || *form != SecretForm::Plain {
                self.cover_line(content, *form);
            }
            self.read += content;
            self.keep(end);
            is_first = false;
        }
    }

    fn cover_line(&mut self, length: usize, form: SecretForm) {
        const STARS: &[u8; 10] = b"**********";
        let text = |length: usize| {
            if length < REDACTED.len() {
                &STARS[..length]
            } else {
                REDACTED
            }
        };
        match form {
            SecretForm::Text => self.put([text(length), b"", b""]),
            SecretForm::InFlow => self.put([&STARS[..length.min(10)], b"", b""]),
            SecretForm::Plain if length > 2 => self.put([b"'", text(length - 2), b"'"]),
            SecretForm::Plain => self.put([&SHORT[..length.min(1)], b"", b""]),
            SecretForm::Number => self.put([&b"0"[..length.min(1)], b"", b""]),
        }
    }
}

/// Whether nothing secret is left here: what Envoy or we wrote there before.
pub(super) fn is_blank(text: &[u8]) -> bool {
    let is_covered = |line: &[u8]| {
        let line = line.trim_ascii();
        let line = line
            .strip_prefix(b"'")
            .and_then(|line| line.strip_suffix(b"'"))
            .unwrap_or(line);
        // The second is the first in base64.
        line == REDACTED
            || line == b"W3JlZGFjdGVkXQ=="
            || line.iter().all(|&b| b == b'*')
            || line == b"0"
            || line == SHORT
    };
    text.split(|&b| b == b'\n').all(is_covered)
}

/// The mark for a scalar value, by the bytes of its node.
pub(super) fn of_scalar(text: &[u8], span: Range<usize>, is_json: bool) -> Option<SecretMark> {
    let raw = text.get(span.clone())?;
    let first = *raw.first()?;
    let (range, form) = match first {
        b'"' | b'\'' => {
            let is_closed = raw.len() > 1 && raw.last() == Some(&first);
            (
                span.start + 1..span.end - usize::from(is_closed),
                SecretForm::Text,
            )
        }
        _ if is_json => (span, SecretForm::Number),
        b'|' | b'>' => {
            let content = raw[memchr::memchr(b'\n', raw)?..].trim_ascii_start();
            (span.end - content.len()..span.end, SecretForm::Text)
        }
        _ => match flow::scalar(raw) {
            Value::String(_) => (span, SecretForm::Plain),
            _ => (span, SecretForm::Number),
        },
    };
    match scheme(&text[range.clone()]) {
        0 => Some(SecretMark { range, form }),
        scheme if form == SecretForm::Plain => Some(in_yaml(text, range.start + scheme..range.end)),
        scheme => Some(SecretMark {
            range: range.start + scheme..range.end,
            form,
        }),
    }
}

/// The length of the authentication scheme that a header's value starts with: it tells what kind of
/// secret it was.
pub(super) fn scheme(value: &[u8]) -> usize {
    const SCHEMES: [&str; 6] = [
        "Bearer ",
        "Basic ",
        "Token ",
        "Digest ",
        "Negotiate ",
        "ApiKey ",
    ];
    let starts = |scheme: &&&str| {
        value
            .get(..scheme.len())
            .is_some_and(|v| v.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len())
}

/// The mark for a secret somewhere in the lines of a YAML text.
pub(super) fn in_yaml(text: &[u8], range: Range<usize>) -> SecretMark {
    let before = &text[range.start.saturating_sub(MAX_LINE)..range.start];
    let before = &before[memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)..];
    let rest = &text[range.end..text.len().min(range.end + MAX_LINE)];
    let rest = rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())].trim_ascii_end();
    let count = |list: &[u8]| before.iter().filter(|b| list.contains(b)).count();
    if count(b"\"") % 2 == 1 || count(b"'") % 2 == 1 || matches!(rest.first(), Some(b'"' | b'\'')) {
        return SecretMark {
            range,
            form: SecretForm::Text,
        };
    }
    let in_flow = count(b"{[") > count(b"}]");
    let lead = before.trim_ascii();
    let is_start = match lead.last() {
        Some(b':') => before.ends_with(b" "),
        Some(b'{' | b'[' | b',') => in_flow,
        Some(_) => lead.iter().all(|&b| b == b'-'),
        // A key; else a line of a longer scalar.
        None => rest.starts_with(b":"),
    };
    let is_end = match rest.first() {
        None => true,
        Some(b',' | b']' | b'}') => in_flow,
        Some(b':') => lead.is_empty(),
        Some(_) => rest.trim_ascii_start().starts_with(b"#"),
    };
    let end = rest
        .iter()
        .position(|b| in_flow && b",]}".contains(b))
        .unwrap_or(rest.len());
    let tail = rest[..end].trim_ascii_end();
    match (is_start, is_end, in_flow) {
        (true, true, _) => SecretMark {
            range,
            form: SecretForm::Plain,
        },
        // What follows is part of the same scalar, and the quotes must stand around all of it.
        (true, false, _) if memchr::memchr2(b'"', b'\'', tail).is_none() => SecretMark {
            range: range.start..range.end + tail.len(),
            form: SecretForm::Plain,
        },
        (_, _, true) => SecretMark {
            range,
            form: SecretForm::InFlow,
        },
        (..) => SecretMark {
            range,
            form: SecretForm::Text,
        },
    }
}
