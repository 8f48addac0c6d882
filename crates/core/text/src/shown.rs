//! Foreign text as it may be shown: names, annotations and log lines come from whoever wrote them,
//! and a terminal obeys what it is shown.
//!
//! What would move the cursor, change the terminal, turn the reading direction or not be seen at
//! all is written as an escape. It is JSON's notation, so that a document in JSON says the same
//! with it.

use std::borrow::Cow;
use std::fmt::Write;

/// Starts a stretch of our own text that is set off; the letter after it says how. Noncharacters,
/// which "should never be interchanged" (Unicode, 23.7): only who prints knows how a terminal is
/// told, so that no escape code is ever part of a text.
pub const SET: char = '\u{fdd0}';
/// Ends what [`SET`] starts.
pub const END: char = '\u{fdd1}';

/// Whether a character is shown as an escape.
pub fn is_escaped(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fdd0}'..='\u{fdef}'
        )
}

/// The text with all that is not to be shown escaped; line breaks and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, is_escaped)
}

/// The text on one line.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_escaped(c) || matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) || !text.chars().any(&is_wanted) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_wanted(c) {
            escape_into(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Writes a character as an escape.
pub fn escape_into(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        // A String takes all text.
        c => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_told_and_not_done() {
        for (given, shown) in [
            ("cart", "cart"),
            ("größe 大 🚢", "größe 大 🚢"),
            ("\u{1b}]52;c;aWQ=\u{7}", "\\u001b]52;c;aWQ=\\u0007"),
            ("\u{9b}2J", "\\u009b2J"),
            ("safe\rgone", "safe\\rgone"),
            ("a\u{202e}b", "a\\u202eb"),
            ("a\u{200b}b\u{fdd0}", "a\\u200bb\\ufdd0"),
            ("a\nb\tc", "a\nb\tc"),
        ] {
            assert_eq!(text(given), shown);
        }
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
    }
}
