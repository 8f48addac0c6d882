//! How a string is written: plain where it reads back as itself, quoted or as a block where it does
//! not.

use std::fmt::{self, Write};

use super::resolve::reads_as_another_type;
use crate::spaces;

/// Writes the string; the lines of a block stand at `column`.
pub(super) fn write_string(out: &mut impl Write, text: &str, column: usize) -> fmt::Result {
    let writable = text.chars().all(is_writable);
    if text.contains('\n') {
        // A block cannot show where a line of it ends in spaces.
        let block = writable && !text.ends_with(' ') && !text.contains(" \n");
        return if block {
            literal(out, text, column)
        } else {
            double_quoted(out, text)
        };
    }
    if !writable || reads_as_another_type(text) {
        double_quoted(out, text)
    } else if is_plain(text) {
        out.write_str(text)
    } else {
        write!(out, "'{}'", text.replace('\'', "''"))
    }
}

/// What go-yaml takes for printable, without the line ends that only YAML 1.1 knows.
fn is_writable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Whether nothing in the text is an indicator where it stands, in block context.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let before_space = |at: usize| matches!(bytes.get(at + 1), None | Some(b' '));
    let starts_like_markup = match first {
        b'?' | b':' | b'-' => before_space(0),
        first => b" #,[]{}&*!|>'\"%@`".contains(first),
    };
    let is_mark = |at: usize| match bytes[at] {
        b':' => before_space(at),
        b'#' => bytes[at - 1] == b' ',
        _ => false,
    };
    !starts_like_markup
        && *last != b' '
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !(1..bytes.len()).any(is_mark)
}

/// A `|` block with the hints that keep its first spaces and its last line ends.
fn literal(out: &mut impl Write, text: &str, column: usize) -> fmt::Result {
    out.write_char('|')?;
    if text.starts_with([' ', '\n']) {
        out.write_char('2')?;
    }
    if !text.ends_with('\n') {
        out.write_char('-')?;
    } else if text == "\n" || text.ends_with("\n\n") {
        out.write_char('+')?;
    }
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.write_char('\n')?;
        spaces(out, if line.is_empty() { 0 } else { column })?;
        out.write_str(line)?;
    }
    Ok(())
}

fn double_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '\0' => out.write_str("\\0"),
            '\u{7}' => out.write_str("\\a"),
            '\u{8}' => out.write_str("\\b"),
            '\t' => out.write_str("\\t"),
            '\n' => out.write_str("\\n"),
            '\u{b}' => out.write_str("\\v"),
            '\u{c}' => out.write_str("\\f"),
            '\r' => out.write_str("\\r"),
            '\u{1b}' => out.write_str("\\e"),
            '"' | '\\' => write!(out, "\\{c}"),
            '\u{85}' => out.write_str("\\N"),
            '\u{2028}' => out.write_str("\\L"),
            '\u{2029}' => out.write_str("\\P"),
            c if is_writable(c) => out.write_char(c),
            c => match u32::from(c) {
                code @ ..=0xff => write!(out, "\\x{code:02X}"),
                code @ ..=0xffff => write!(out, "\\u{code:04X}"),
                code => write!(out, "\\U{code:08X}"),
            },
        }?;
    }
    out.write_char('"')
}
