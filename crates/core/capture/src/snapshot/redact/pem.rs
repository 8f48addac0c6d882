//! Private keys in PEM, and base64 of such PEM. Certificates and public keys are public and stay.

use std::ops::Range;

use super::token::{is_base64, run, word_start};

/// How far the two marker lines of a PEM block may be apart.
const MAX_BLOCK: usize = 16 * 1024;

/// The PEM block whose first line holds `PRIVATE KEY` at `words`, marker lines included. The line
/// breaks may be escapes.
pub(super) fn block(text: &[u8], words: Range<usize>) -> Option<Range<usize>> {
    let before = &text[words.start.saturating_sub(40)..words.start];
    let begin = words.start - before.len() + memchr::memmem::rfind(before, b"BEGIN ")?;
    if text[begin..words.start].contains(&b'\n') {
        return None;
    }
    // The dashes before `BEGIN`, without the blanks before them.
    let mut start = begin;
    while start > 0 && matches!(text[start - 1], b'-' | b' ') {
        start -= 1;
    }
    let start = run(&text[..begin], start, |b| b == b' ');
    let body = run(text, words.end, |b| b"- BLOCK".contains(&b));
    let end = end_marker(text, body).or_else(|| cut_body(text, body))?;
    Some(start..end)
}

/// The end of the closing marker line.
fn end_marker(text: &[u8], body: usize) -> Option<usize> {
    let rest = &text[body..text.len().min(body + MAX_BLOCK)];
    let marker = memchr::memmem::find(rest, b"-----END ")
        .or_else(|| memchr::memmem::find(rest, b"---- END "))?;
    // A quote between the two lines: they are two different strings.
    if memchr::memchr2(b'"', b'\'', &rest[..marker]).is_some() {
        return None;
    }
    let name = body + marker + b"-----END ".len();
    let is_of_marker =
        |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b' ' | b'-');
    Some(run(text, name, is_of_marker))
}

/// The end of a key that was cut off before its closing marker line.
fn cut_body(text: &[u8], body: usize) -> Option<usize> {
    let mut end = body;
    let mut is_key = false;
    loop {
        let start = run(text, line_break(text, end), |b| b == b' ' || b == b'\t');
        let line = run(text, start, is_base64);
        let next = if is_header(&text[start..]) {
            run(text, start, |b| b >= b' ' && !b"\\\"".contains(&b))
        } else {
            line
        };
        let is_whole = matches!(
            text.get(next),
            None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'')
        );
        if next == start || !is_whole {
            // Prose that only names the marker has no line of key material after it.
            return is_key.then_some(end);
        }
        is_key |= line - start >= 16;
        end = next;
    }
}

/// RFC 1421's headers, which stand before an encrypted key, and those of PGP.
fn is_header(line: &[u8]) -> bool {
    ["Proc-Type", "DEK-Info", "Comment", "Version"]
        .iter()
        .any(|name| line.starts_with(name.as_bytes()))
}

/// Where a line goes on behind its break, which may be an escape.
fn line_break(text: &[u8], at: usize) -> usize {
    let mut at = run(text, at, |b| b.is_ascii_whitespace());
    while text.get(at) == Some(&b'\\') {
        let letter = run(text, at, |b| b == b'\\');
        if !matches!(text.get(letter), Some(b'n' | b'r' | b't')) {
            break;
        }
        at = run(text, letter + 1, |b| b.is_ascii_whitespace());
    }
    at
}

/// The base64 text that holds `PRIVATE KEY` at `words`, with the lines it goes on in.
pub(super) fn base64(text: &[u8], words: Range<usize>) -> Range<usize> {
    let start = word_start(text, words.start, is_digit);
    let mut end = run(text, words.end, is_digit);
    while let Some(next) = next_line(text, end) {
        end = next;
    }
    start..run(text, end, |b| b == b'=')
}

/// The end of the following line when that is base64 and nothing else.
fn next_line(text: &[u8], end: usize) -> Option<usize> {
    let behind = end + line_break_length(&text[end..])?;
    let start = run(text, behind, |b| b == b' ' || b == b'\t');
    let line_end = run(text, start, is_digit);
    let is_whole = matches!(
        text.get(line_end),
        None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'=')
    );
    (is_whole && line_end - start >= 4).then_some(line_end)
}

fn line_break_length(text: &[u8]) -> Option<usize> {
    let breaks: [&[u8]; 4] = [b"\n", b"\r\n", b"\\n", b"\\r\\n"];
    for line_break in breaks {
        if text.starts_with(line_break) {
            return Some(line_break.len());
        }
    }
    None
}

/// Whether it is one of the 64.
fn is_digit(b: u8) -> bool {
    is_base64(b) && b != b'='
}
