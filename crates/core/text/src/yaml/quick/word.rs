//! Where scalars end on their line, and what quoted ones say.

use std::borrow::Cow;

use crate::json;

/// The end of a word or a quoted scalar that is one wherever it stands; none when it may be
/// something else.
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start)? {
        quote @ (b'"' | b'\'') => quoted_end(bytes, start, *quote),
        // It may be an item.
        b'-' => None,
        _ => {
            let rest = &bytes[start..];
            let length = rest.iter().take_while(|&&b| is_simple(b)).count();
            (length > 0).then_some(start + length)
        }
    }
}

/// What means nothing to YAML, wherever it stands in a word.
fn is_simple(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-')
}

/// The length of a plain scalar at the start of a line's rest; none when this may be something
/// else.
pub(super) fn plain_end(rest: &[u8]) -> Option<usize> {
    let is_indicator = match rest {
        [b'-', second, ..] => b" ,[]{}".contains(second),
        [first, ..] => b"-?:,[]{}#&*!|>'\"%@`".contains(first),
        [] => true,
    };
    if is_indicator {
        return None;
    }
    let mut length = rest.len();
    for at in memchr::memchr2_iter(b':', b'#', rest) {
        match rest[at] {
            // YAML 1.2, 6.6: "Comments must be separated from other tokens by white space
            // characters." The first byte is no `#`, or it would be an indicator.
            b'#' if rest[at - 1] == b' ' => {
                length = at;
                break;
            }
            b':' if rest.get(at + 1).is_none_or(|&b| b == b' ') => return None,
            _ => {}
        }
    }
    Some(rest[..length].trim_ascii_end().len())
}

/// The end of a quoted scalar, its closing quote included.
pub(super) fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr3(quote, b'\n', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'\\' if quote == b'"' => at += 2,
            b'\\' => at += 1,
            b if b == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 2,
            b => return (b == quote).then_some(at + 1),
        }
    }
}

/// What a quoted scalar says; none when it has escapes that JSON does not know.
pub(super) fn unquote(text: &str) -> Option<Cow<'_, str>> {
    let inside = &text[1..text.len() - 1];
    if text.starts_with('\'') {
        let has_quote = memchr::memchr(b'\'', inside.as_bytes()).is_some();
        return Some(if has_quote {
            Cow::Owned(inside.replace("''", "'"))
        } else {
            Cow::Borrowed(inside)
        });
    }
    let mut escapes = inside.bytes();
    while escapes.any(|b| b == b'\\') {
        if !matches!(
            escapes.next(),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
        ) {
            return None;
        }
    }
    Some(json::unescape(inside))
}
