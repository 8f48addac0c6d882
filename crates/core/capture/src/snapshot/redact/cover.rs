//! Writing over secrets, in place: the text never grows, keeps its lines, and stays JSON or YAML if
//! it was.

use std::cmp::Reverse;
use std::ops::Range;

use super::flow;
use meshladder_text::tree::Value;

const REDACTED: &[u8] = b"[redacted]";

const STARS: &[u8; 10] = b"**********";

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

impl SecretMark {
    /// A string, or a part of one.
    pub(super) fn text(range: Range<usize>) -> Self {
        Self {
            range,
            form: SecretForm::Text,
        }
    }
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
                last.range.end = last.range.end.max(mark.range.end);
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
            let rest = &self.bytes[self.read..range.end];
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
            let line = &rest[..length];
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

    /// Writes no more than was there: the text is rewritten in place.
    fn cover_line(&mut self, length: usize, form: SecretForm) {
        match form {
            SecretForm::Text => self.put([replacement(length), b"", b""]),
            SecretForm::InFlow => self.put([&STARS[..length.min(STARS.len())], b"", b""]),
            SecretForm::Plain if length > 2 => self.put([b"'", replacement(length - 2), b"'"]),
            SecretForm::Plain => self.put([&SHORT[..length.min(1)], b"", b""]),
            SecretForm::Number => self.put([&b"0"[..length.min(1)], b"", b""]),
        }
    }
}

/// What stands for a secret of so many bytes.
fn replacement(length: usize) -> &'static [u8] {
    if length < REDACTED.len() {
        &STARS[..length]
    } else {
        REDACTED
    }
}

/// Whether nothing secret is left here: what Envoy or we wrote there before.
pub(super) fn is_blank(text: &[u8]) -> bool {
    text.split(|&b| b == b'\n').all(is_covered)
}

fn is_covered(line: &[u8]) -> bool {
    let line = match line.trim_ascii() {
        [b'\'', inside @ .., b'\''] => inside,
        line => line,
    };
    // The second is the first in base64.
    line == REDACTED
        || line == b"W3JlZGFjdGVkXQ=="
        || line.iter().all(|&b| b == b'*')
        || line == b"0"
        || line == SHORT
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
    let scheme = scheme(&text[range.clone()]);
    let range = range.start + scheme..range.end;
    // Behind a scheme it is only a part of the scalar.
    if scheme > 0 && form == SecretForm::Plain {
        return Some(in_yaml(text, range));
    }
    Some(SecretMark { range, form })
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
    for scheme in SCHEMES {
        let start = value.get(..scheme.len()).unwrap_or_default();
        if start.eq_ignore_ascii_case(scheme.as_bytes()) {
            return scheme.len();
        }
    }
    0
}

/// The mark for a secret somewhere in the lines of a YAML text.
pub(super) fn in_yaml(text: &[u8], range: Range<usize>) -> SecretMark {
    let before = line_before(text, range.start);
    let rest = line_behind(text, range.end);
    let in_quotes = count(before, b"\"") % 2 == 1 || count(before, b"'") % 2 == 1;
    if in_quotes || matches!(rest.first(), Some(b'"' | b'\'')) {
        return SecretMark::text(range);
    }

    let in_flow = count(before, b"{[") > count(before, b"}]");
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
    let tail = rest_of_scalar(rest, in_flow);

    let (range, form) = if is_start && is_end {
        (range, SecretForm::Plain)
    } else if is_start && memchr::memchr2(b'"', b'\'', tail).is_none() {
        // What follows is part of the same scalar, and the quotes must stand around all of it.
        (range.start..range.end + tail.len(), SecretForm::Plain)
    } else if in_flow {
        (range, SecretForm::InFlow)
    } else {
        (range, SecretForm::Text)
    };
    SecretMark { range, form }
}

/// What stands before a place on its line, as far as it is looked at.
fn line_before(text: &[u8], at: usize) -> &[u8] {
    let before = &text[at.saturating_sub(MAX_LINE)..at];
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    &before[start..]
}

/// What stands behind a place on its line, as far as it is looked at.
fn line_behind(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..text.len().min(at + MAX_LINE)];
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    rest[..end].trim_ascii_end()
}

fn count(text: &[u8], list: &[u8]) -> usize {
    text.iter().filter(|b| list.contains(b)).count()
}

/// The rest of a line up to where a scalar in a flow collection ends.
fn rest_of_scalar(rest: &[u8], in_flow: bool) -> &[u8] {
    if !in_flow {
        return rest.trim_ascii_end();
    }
    let end = rest.iter().position(|b| b",]}".contains(b));
    rest[..end.unwrap_or(rest.len())].trim_ascii_end()
}
