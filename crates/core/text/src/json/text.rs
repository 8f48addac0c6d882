//! The inside of a JSON string.

use std::borrow::Cow;
use std::fmt::Write;

/// The text a JSON string stands for, given what is between its quotes. A lone surrogate or a
/// broken escape becomes U+FFFD: a listing with one odd character beats no listing.
pub fn unescape(inside: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', inside.as_bytes()) else {
        return Cow::Borrowed(inside);
    };
    // An escape is never shorter than what it stands for.
    let mut out = String::with_capacity(inside.len());
    out.push_str(&inside[..first]);
    let mut rest = inside[first..].chars();
    while let Some(c) = rest.next() {
        out.push(if c == '\\' { unescaped(&mut rest) } else { c });
    }
    Cow::Owned(out)
}

/// A JSON string, quotes included.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    escape_into(&mut out, text);
    out
}

/// Appends a JSON string, quotes included, to other text.
pub fn escape_into(out: &mut String, text: &str) {
    out.push('"');
    if text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\') {
        out.push_str(text);
    } else {
        escape_inside(out, text);
    }
    out.push('"');
}

fn escape_inside(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

fn unescaped(rest: &mut std::str::Chars<'_>) -> char {
    match rest.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('u') => unicode(rest),
        Some(c @ ('"' | '\\' | '/')) => c,
        _ => char::REPLACEMENT_CHARACTER,
    }
}

fn unicode(rest: &mut std::str::Chars<'_>) -> char {
    let Some(high) = hex4(rest) else {
        return char::REPLACEMENT_CHARACTER;
    };
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    // RFC 8259, 7: a character outside the Basic Multilingual Plane is written "as a 12-character
    // sequence, encoding the UTF-16 surrogate pair".
    let mut ahead = rest.clone();
    if ahead.next() == Some('\\')
        && ahead.next() == Some('u')
        && let Some(low @ 0xdc00..0xe000) = hex4(&mut ahead)
    {
        *rest = ahead;
        return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            .unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::REPLACEMENT_CHARACTER
}

fn hex4(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut value = 0;
    for _ in 0..4 {
        value = value * 16 + rest.next()?.to_digit(16)?;
    }
    Some(value)
}
