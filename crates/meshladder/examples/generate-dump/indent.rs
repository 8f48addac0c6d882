//! Compact JSON in, Envoy's layout out: one space per level, one member per line, `{}` and `[]`
//! when empty.

use std::io::{self, Write};

pub(crate) struct Indent<W> {
    out: W,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// A bracket was opened and nothing has followed yet.
    opened: bool,
}

impl<W: Write> Indent<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            depth: 0,
            in_string: false,
            escaped: false,
            opened: false,
        }
    }

    /// Ends the document with a newline, as Envoy does.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn line(&mut self) -> io::Result<()> {
        const SPACES: &[u8; 64] = &[b' '; 64];
        self.out.write_all(b"\n")?;
        self.out.write_all(&SPACES[..self.depth])
    }

    /// Copies the string that is being written, up to its closing quote; gives how much of `text`
    /// that is.
    fn string(&mut self, text: &[u8]) -> io::Result<usize> {
        let end = text.iter().position(|&b| {
            let closes = b == b'"' && !self.escaped;
            self.escaped = b == b'\\' && !self.escaped;
            closes
        });
        self.in_string = end.is_none();
        let len = end.map_or(text.len(), |at| at + 1);
        self.out.write_all(&text[..len])?;
        Ok(len)
    }

    fn outside_string(&mut self, byte: u8) -> io::Result<()> {
        match byte {
            b' ' | b'\n' => Ok(()),
            b'{' | b'[' => {
                self.before_value()?;
                self.depth += 1;
                self.opened = true;
                self.out.write_all(&[byte])
            }
            b'}' | b']' => {
                self.depth -= 1;
                if !std::mem::take(&mut self.opened) {
                    self.line()?;
                }
                self.out.write_all(&[byte])
            }
            b',' => {
                self.out.write_all(b",")?;
                self.line()
            }
            b':' => self.out.write_all(b": "),
            _ => {
                self.before_value()?;
                self.in_string = byte == b'"';
                self.out.write_all(&[byte])
            }
        }
    }

    fn before_value(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.opened) {
            self.line()
        } else {
            Ok(())
        }
    }
}

impl<W: Write> Write for Indent<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut at = 0;
        while at < text.len() {
            if self.in_string {
                at += self.string(&text[at..])?;
            } else {
                self.outside_string(text[at])?;
                at += 1;
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
