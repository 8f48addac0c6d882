//! The only doors to the terminal: data to stdout, notes to stderr.

use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::args::Color;
use crate::progress;

/// Buffered stdout. A closed pipe comes back as an error, which ends the command quietly.
pub(crate) fn stdout() -> BufWriter<io::Stdout> {
    progress::stop();
    BufWriter::with_capacity(1 << 16, io::stdout())
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
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {text}");
}
