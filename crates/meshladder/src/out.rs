//! The only doors to the terminal: data to stdout, notes to stderr. Whatever goes through is shown
//! and never obeyed: control characters of names, annotations and logs become escapes, and the
//! only codes that a terminal gets are made here.

use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use meshladder_capture::snapshot::{DocId, redact};
use meshladder_output::paint;
use meshladder_text::shown;

use crate::args::Color;
use crate::progress;

/// Buffered stdout. A closed pipe comes back as an error, which ends the command quietly.
pub(crate) type Stdout = BufWriter<Door<io::Stdout>>;

/// See [`Stdout`].
pub(crate) fn stdout() -> Stdout {
    progress::stop();
    BufWriter::with_capacity(1 << 16, Door::to(io::stdout()))
}

/// Passes text on as it may be shown ([`shown`]).
pub(crate) struct Door<W> {
    inner: W,
    /// The first bytes of a character that is not all here, or of a mark that sets text off.
    begun: Vec<u8>,
}

impl<W: Write> Door<W> {
    fn to(inner: W) -> Self {
        Self {
            inner,
            begun: Vec::new(),
        }
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        let mut out = String::with_capacity(text.len() + 64);
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                shown::SET => match chars.next() {
                    Some(letter) => match paint::rendition(letter) {
                        Some(code) => out.extend(["\x1b[", code, "m"]),
                        None => out.push(letter),
                    },
                    None => self.begun = shown::SET.to_string().into_bytes(),
                },
                shown::END => out.push_str("\x1b[0m"),
                c if shown::is_escaped(c) => shown::escape_into(&mut out, c),
                c => out.push(c),
            }
        }
        self.inner.write_all(out.as_bytes())
    }
}

impl<W: Write> Write for Door<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
        if self.begun.is_empty() && bytes.iter().all(is_plain) {
            return self.inner.write(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut rest = &all[..];
        while !rest.is_empty() {
            let (text, bad) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let text = std::str::from_utf8(&rest[..error.valid_up_to()]);
                    (text.expect("it is valid up to there"), Some(error))
                }
            };
            self.pass(text)?;
            rest = &rest[text.len()..];
            match bad.map(|error| error.error_len()) {
                Some(None) => {
                    self.begun.extend_from_slice(rest);
                    break;
                }
                // A byte that is no text: eight-bit terminals take some of them for codes.
                Some(Some(length)) => {
                    self.pass(&"\u{fffd}".repeat(length))?;
                    rest = &rest[length..];
                }
                None => {}
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes text to stdout.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Applies `--color` to everything that is written later.
pub(crate) fn set_colour(color: Color) {
    match color {
        Color::Auto => {}
        Color::Always => ColorChoice::Always.write_global(),
        Color::Never => ColorChoice::Never.write_global(),
    }
}

/// Whether stdout takes colour: what `--color` says, else NO_COLOR and the terminal.
pub(crate) fn has_colour() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Something the user should know, that is not the answer.
pub(crate) fn note(text: &str) {
    tell("note", AnsiColor::Cyan.on_default(), text);
}

/// Something in the input that could not be read.
pub(crate) fn warn(text: &str) {
    tell("warning", AnsiColor::Yellow.on_default().bold(), text);
}

/// Why the command failed, and what to try.
pub(crate) fn error(text: &str, hint: Option<&str>) {
    tell("error", AnsiColor::Red.on_default().bold(), text);
    if let Some(hint) = hint {
        tell(" hint", AnsiColor::Cyan.on_default(), hint);
    }
}

fn tell(word: &str, style: Style, text: &str) {
    progress::stop();
    // When stderr is gone there is nobody left to tell.
    // Arguments, addresses and answers of servers are repeated here, with what they hold.
    let mut bytes = text.as_bytes().to_vec();
    redact(&DocId::new("other/message.log"), &mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let text = shown::text(&text);
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_codes_are_shown_and_our_own_are_made_here_however_the_bytes_are_cut() {
        let text = format!(
            "{}bcart{} \x1b[2J\u{9b}é\r\u{202e}\n",
            shown::SET,
            shown::END
        );
        let wanted = "\x1b[1mcart\x1b[0m \\u001b[2J\\u009bé\\r\\u202e\n";
        for step in 1..text.len() {
            let mut door = Door::to(Vec::new());
            for part in text.as_bytes().chunks(step) {
                door.write_all(part).expect("memory takes all");
            }
            assert_eq!(String::from_utf8_lossy(&door.inner), wanted, "by {step}");
        }
    }
}
