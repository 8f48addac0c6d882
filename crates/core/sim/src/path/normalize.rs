//! Paths as Envoy rewrites them. The query stays as it is.

use std::fmt::Write;

/// `%2F` and `%5C` as the characters they stand for; none when there are none.
pub(super) fn unescape_slashes(path: &str) -> Option<String> {
    let (path, query) = split_query(path);
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let slash = match rest.get(at + 1..at + 3) {
            Some("2f" | "2F") => '/',
            Some("5c" | "5C") => '\\',
            _ => {
                out.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        };
        out.push(slash);
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    if out.len() == path.len() {
        return None;
    }
    Some(out + query)
}

/// A path and its query, which keeps its question mark.
fn split_query(path: &str) -> (&str, &str) {
    path.split_at(path.find('?').unwrap_or(path.len()))
}

/// Several slashes made one. As in Envoy, a path of slashes only keeps two.
pub(super) fn merge_slashes(path: &str) -> Option<String> {
    let (path, query) = split_query(path);
    if !path.contains("//") {
        return None;
    }
    let segments: Vec<_> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let head = if path.starts_with('/') { "/" } else { "" };
    let tail = if path.ends_with('/') { "/" } else { "" };
    Some(format!("{head}{}{tail}{query}", segments.join("/")))
}

/// RFC 3986 normalization; none when Envoy refuses the path.
pub(super) fn normalize(path: &str) -> Option<String> {
    let (path, query) = split_query(path);
    Some(canonical(&without_dot_parameters(path))? + query)
}

/// `/..;x/` is `/../`: some servers take path parameters off before they resolve dots.
fn without_dot_parameters(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            plain.push('/');
        }
        plain.push_str(match segment.split_once(';') {
            Some((dots @ ("." | ".."), _)) => dots,
            _ => segment,
        });
    }
    plain
}

fn canonical(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let mut out = String::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match dots(rest) {
            // Dots count as a segment only right behind a slash.
            Some((count, length)) if out.ends_with('/') => {
                if count == 2 {
                    back_up(&mut out);
                }
                at += length;
            }
            _ => at += step(rest, &mut out)?,
        }
    }
    Some(out)
}

/// One or two dots that are a whole segment, and how many bytes they take with the slash behind
/// them.
fn dots(rest: &[u8]) -> Option<(usize, usize)> {
    let first = dot(rest)?;
    let (count, length) = match dot(&rest[first..]) {
        Some(second) => (2, first + second),
        None => (1, first),
    };
    match rest.get(length) {
        None => Some((count, length)),
        Some(b'/' | b'\\') => Some((count, length + 1)),
        Some(_) => None,
    }
}

/// The length of a dot, which may be escaped.
fn dot(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'.', ..] => Some(1),
        [b'%', b'2', b'e' | b'E', ..] => Some(3),
        _ => None,
    }
}

/// Takes the last segment off; the root stays.
fn back_up(out: &mut String) {
    let end = match out[..out.len() - 1].rfind('/') {
        Some(slash) => slash + 1,
        None => 1,
    };
    out.truncate(end);
}

/// Copies one character as it should be written, and says how many bytes it took; none when it is
/// not allowed.
fn step(rest: &[u8], out: &mut String) -> Option<usize> {
    match rest {
        [b'\\', ..] => out.push('/'),
        [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            unescape([*high, *low], out)?;
            return Some(3);
        }
        [
            b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=b' ' | 0x7f..,
            ..,
        ] => {
            write!(out, "%{:02X}", rest[0]).expect("a String takes all text");
        }
        _ => out.push(char::from(rest[0])),
    }
    Some(1)
}

/// "For consistency, percent-encoded octets in the ranges of ALPHA, DIGIT, hyphen, period,
/// underscore, or tilde should not be created by URI producers and, when found in a URI, should be
/// decoded to their corresponding unreserved characters by URI normalizers" (RFC 3986).
fn unescape([high, low]: [u8; 2], out: &mut String) -> Option<()> {
    let byte = hexadecimal(high) * 16 + hexadecimal(low);
    match byte {
        // A NUL in a path is never taken.
        0 => return None,
        b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
        byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
        _ => out.extend([b'%', high, low].map(char::from)),
    }
    Some(())
}

fn hexadecimal(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
