//! Bracketed classes. RE2 knows no set operations: `&&`, `--` and `~~` are characters like others.

use super::escape;
use super::repeat::PatternProblem;

const NOT_CLOSED: &str = "a `[` is not closed";

/// The class at the start of `text` in the `regex` crate's syntax, and what follows it.
pub(super) fn translate(text: &str) -> Result<(String, &str), PatternProblem> {
    let inside = &text[1..];
    let negated = inside.strip_prefix('^');
    let mut out = if negated.is_some() {
        "[^".to_owned()
    } else {
        "[".to_owned()
    };
    let mut rest = negated.unwrap_or(inside);
    let mut is_first = true;
    // "] is okay as first char in class".
    while is_first || !rest.starts_with(']') {
        is_first = false;
        rest = item(rest, &mut out)?;
    }
    out.push(']');
    Ok((out, &rest[1..]))
}

fn item<'p>(text: &'p str, out: &mut String) -> Result<&'p str, PatternProblem> {
    if let Some((class, rest)) = named(text)? {
        out.push_str(class);
        return Ok(rest);
    }
    if let Some((class, rest)) = escape::class(text)? {
        out.push_str(&class);
        return Ok(rest);
    }
    let (low, rest) = character(text)?;
    // A `-` before the end of the class stands for itself.
    let (high, rest) = match rest.strip_prefix('-') {
        Some(behind) if !behind.starts_with(']') && !behind.is_empty() => character(behind)?,
        _ => (low, rest),
    };
    if high < low {
        return Err(format!("`{low}-{high}` is no range of characters").into());
    }
    // Every character is written as a range of one, so that no two of them make a `&&` or a `--`.
    escape::push_literal(out, low);
    out.push('-');
    escape::push_literal(out, high);
    Ok(rest)
}

/// `[:alpha:]` and `[:^alpha:]`; the `regex` crate spells them alike. Without `:]` it is a
/// character like others.
fn named(text: &str) -> Result<Option<(&str, &str)>, PatternProblem> {
    let Some(end) = text.strip_prefix("[:").and_then(|inside| inside.find(":]")) else {
        return Ok(None);
    };
    let (class, rest) = text.split_at(end + 4);
    let name = class[2..end + 2].trim_start_matches('^');
    if class[2..].starts_with("^^") || !NAMES.contains(&name) {
        return Err(format!("`{class}` names no class of characters").into());
    }
    Ok(Some((class, rest)))
}

const NAMES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

fn character(text: &str) -> Result<(char, &str), PatternProblem> {
    if text.starts_with('\\') {
        return escape::character(text);
    }
    let c = text.chars().next().ok_or(NOT_CLOSED)?;
    Ok((c, &text[c.len_utf8()..]))
}
