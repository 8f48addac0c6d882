//! JSON that goes out: the one place where a struct becomes bytes.

use std::io;

use serde_core::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// The value on one line.
pub fn to_line(value: &impl Serialize) -> String {
    written(value, None)
}

/// The value over several lines, each level with so many spaces more.
pub fn to_pretty(value: &impl Serialize, indent: usize) -> String {
    written(value, Some(indent))
}

fn written(value: &impl Serialize, indent: Option<usize>) -> String {
    let layout = Layout {
        indent,
        level: 0,
        is_empty: true,
    };
    let mut out = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut out, layout))
        .expect("what goes out is made of structs, lists and maps with keys of text");
    String::from_utf8(out).expect("JSON of strings is a string")
}

/// How members and items are laid out, and the few characters in which we differ from serde_json.
struct Layout {
    /// Spaces per level; none for everything on one line.
    indent: Option<usize>,
    level: usize,
    /// Whether nothing was written yet of the list or object that is open.
    is_empty: bool,
}

impl Layout {
    fn open(&mut self) {
        self.level += 1;
        self.is_empty = true;
    }

    fn close<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.level -= 1;
        // Nothing stands between the brackets of an empty one.
        if !self.is_empty {
            self.line(out)?;
        }
        self.is_empty = false;
        Ok(())
    }

    fn next<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.is_empty = false;
        if !first {
            out.write_all(b",")?;
        }
        self.line(out)
    }

    fn line<W: ?Sized + io::Write>(&self, out: &mut W) -> io::Result<()> {
        let Some(indent) = self.indent else {
            return Ok(());
        };
        out.write_all(b"\n")?;
        for _ in 0..indent * self.level {
            out.write_all(b" ")?;
        }
        Ok(())
    }
}

impl Formatter for Layout {
    /// A whole number has no fraction: JSON v1 says `"weight":1`, never `1.0`.
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value}")
    }

    /// JSON v1 has no `\b` and `\f`: they are control characters like any other.
    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Quote => out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => out.write_all(b"\\\\"),
            CharEscape::LineFeed => out.write_all(b"\\n"),
            CharEscape::CarriageReturn => out.write_all(b"\\r"),
            CharEscape::Tab => out.write_all(b"\\t"),
            CharEscape::Solidus => out.write_all(b"/"),
            CharEscape::Backspace => out.write_all(b"\\u0008"),
            CharEscape::FormFeed => out.write_all(b"\\u000c"),
            CharEscape::AsciiControl(byte) => write!(out, "\\u{byte:04x}"),
        }
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open();
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open();
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.indent.is_some() { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_pages_say_the_same() {
        let value = (("a\u{8}\"", 1.0, 0.25), Vec::<u8>::new(), [[true]]);
        let line = r#"[["a\u0008\"",1,0.25],[],[[true]]]"#;
        assert_eq!(to_line(&value), line);
        let page = to_pretty(&value, 2);
        assert_eq!(page.split_whitespace().collect::<String>(), line);
        assert!(page.ends_with("\n  ],\n  [],\n  [\n    [\n      true\n    ]\n  ]\n]"));
    }
}
