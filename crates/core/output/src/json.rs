//! JSON that goes out. Answers of ours are structs with one writer ([`to_line`], [`to_pretty`]).
//! What istioctl prints of a dump is not built but copied: indented, and with the names proto3 JSON
//! gives to fields ([`write()`]).
//!
//! Envoy's admin pages print field names as the `.proto` files have them (`virtual_hosts`);
//! istioctl decodes and prints them anew (`virtualHosts`). The values are the same, so changing the
//! names is enough, and needs no schema but a table of the fields that hold keys of the user's.

use std::fmt::{self, Write};

use crate::spaces;
use meshladder_text::json::Raw;

mod fields;
mod scan;
mod shape;

pub use meshladder_text::json::{to_line, to_pretty};
pub(crate) use shape::{API_VERSION, ObjectJson, Pairs, SubjectJson};

use fields::Context;
use scan::{JsonScan, JsonToken};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether field names become lowerCamelCase.
    pub camel: bool,
    /// Whether the `@type` of the value itself is left out.
    pub drop_type: bool,
    /// Spaces per level.
    pub indent: usize,
    /// The level the value stands at; its first line is taken to be begun already.
    pub level: usize,
}

impl Style {
    /// One entry of a listing, as istioctl prints it.
    pub const ISTIOCTL: Self = Self {
        camel: true,
        drop_type: true,
        indent: 4,
        level: 0,
    };
    /// The document's own names, indented.
    pub const PRETTY: Self = Self {
        camel: false,
        drop_type: false,
        indent: 4,
        level: 0,
    };
}

/// What nests deeper is written as it stands. Envoy's deepest dumps stay under 60.
const MAX_DEPTH: usize = 256;

/// Writes the value, without a line end. Strings keep their escapes and numbers their digits. What
/// is not JSON is written as far as it can be read, and what is still open then is closed.
///
/// # Errors
/// When `out` refuses.
pub fn write(out: &mut impl Write, raw: Raw<'_>, style: Style) -> fmt::Result {
    let mut printer = JsonPrinter {
        out,
        style,
        open: Vec::new(),
        name: None,
    };
    let mut tokens = JsonScan::new(raw.text());
    while let Some(token) = tokens.next() {
        let done = match token {
            JsonToken::Open(_) if printer.open.len() == MAX_DEPTH => printer.deep(&mut tokens)?,
            token => printer.token(token)?,
        };
        if done {
            break;
        }
    }
    printer.finish()
}

/// Writes an array, one entry at a time.
#[derive(Debug)]
pub struct Array<'w, W> {
    out: &'w mut W,
    style: Style,
    empty: bool,
}

impl<'w, W: Write> Array<'w, W> {
    /// Starts an array at the style's level, whose entries are of that style.
    pub fn new(out: &'w mut W, style: Style) -> Self {
        Self {
            out,
            style: Style {
                level: style.level + 1,
                ..style
            },
            empty: true,
        }
    }

    /// Writes one entry.
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn push(&mut self, raw: Raw<'_>) -> fmt::Result {
        self.out.write_str(if self.empty { "[" } else { "," })?;
        self.empty = false;
        line(self.out, self.style, self.style.level)?;
        write(self.out, raw, self.style)
    }

    /// Writes the end of the array, without a line end.
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn finish(self) -> fmt::Result {
        if self.empty {
            return self.out.write_str("[]");
        }
        line(self.out, self.style, self.style.level - 1)?;
        self.out.write_char(']')
    }
}

/// proto3 JSON: "Message field names are mapped to lowerCamelCase".
fn write_camel(out: &mut impl Write, name: &str) -> fmt::Result {
    let mut parts = name.split('_');
    out.write_str(parts.next().unwrap_or_default())?;
    for part in parts {
        let mut rest = part.chars();
        if let Some(first) = rest.next() {
            out.write_char(first.to_ascii_uppercase())?;
            out.write_str(rest.as_str())?;
        }
    }
    Ok(())
}

fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    write_camel(&mut out, name).expect("a String takes everything");
    out
}

fn line(out: &mut impl Write, style: Style, level: usize) -> fmt::Result {
    out.write_char('\n')?;
    spaces(out, style.indent * level)
}

struct JsonPrinter<'a, 'w, W> {
    out: &'w mut W,
    style: Style,
    open: Vec<OpenValue<'a>>,
    /// The name that waits for its value, without quotes.
    name: Option<&'a str>,
}

/// An object or array that is open.
#[derive(Clone, Copy)]
struct OpenValue<'a> {
    bracket: u8,
    empty: bool,
    context: Context,
    /// The field that holds it, or the array it is in, as the document writes it.
    field: &'a str,
    /// The type of the nearest `Any` around its members, without `type.googleapis.com/`.
    any: &'a str,
}

impl<'a, W: Write> JsonPrinter<'a, '_, W> {
    /// Writes what the token adds; true when nothing can follow.
    fn token(&mut self, token: JsonToken<'a>) -> Result<bool, fmt::Error> {
        match token {
            JsonToken::Open(bracket) => {
                let frame = self.frame(bracket);
                self.start_value()?;
                self.out.write_char(char::from(bracket))?;
                self.open.push(frame);
                return Ok(false);
            }
            JsonToken::Close(bracket) => {
                // In ASCII a closing bracket stands two behind the one that opens.
                if self.name.is_some()
                    || self
                        .open
                        .last()
                        .is_none_or(|frame| frame.bracket + 2 != bracket)
                {
                    return Ok(true);
                }
                self.close()?;
            }
            JsonToken::String(text) if self.wants_name() => {
                self.name = Some(&text[1..text.len() - 1]);
                return Ok(false);
            }
            JsonToken::Scalar(_) if self.wants_name() => return Ok(true),
            JsonToken::String(text) | JsonToken::Scalar(text) => self.scalar(text)?,
        }
        Ok(self.open.is_empty())
    }

    fn wants_name(&self) -> bool {
        self.name.is_none() && self.open.last().is_some_and(|frame| frame.bracket == b'{')
    }

    fn scalar(&mut self, text: &'a str) -> fmt::Result {
        let depth = self.open.len();
        if let (Some("@type"), Some(frame)) = (self.name, self.open.last_mut()) {
            let message = text.trim_matches('"');
            frame.any = message.rsplit_once('/').map_or(message, |(_, name)| name);
            if depth == 1 && self.style.drop_type {
                self.name = None;
                return Ok(());
            }
        }
        self.start_value()?;
        self.out.write_str(text)
    }

    /// Writes everything in front of a value: the comma, the line and the name.
    fn start_value(&mut self) -> fmt::Result {
        let depth = self.open.len();
        let Some(frame) = self.open.last_mut() else {
            return Ok(());
        };
        if !std::mem::replace(&mut frame.empty, false) {
            self.out.write_char(',')?;
        }
        line(self.out, self.style, self.style.level + depth)?;
        let Some(name) = self.name.take() else {
            return Ok(());
        };
        self.out.write_char('"')?;
        // A name with an escape is none of a field.
        if frame.context == Context::Message && name.contains('_') && !name.contains('\\') {
            write_camel(self.out, name)?;
        } else {
            self.out.write_str(name)?;
        }
        self.out.write_str("\": ")
    }

    /// What opens here.
    fn frame(&self, bracket: u8) -> OpenValue<'a> {
        let context = if self.style.camel {
            Context::Message
        } else {
            Context::Struct
        };
        let root = OpenValue {
            bracket,
            empty: true,
            context,
            field: "",
            any: "",
        };
        let Some(around) = self.open.last() else {
            return root;
        };
        let inside = OpenValue {
            bracket,
            empty: true,
            ..*around
        };
        match (around.context, self.name) {
            (Context::Struct, _) => inside,
            (Context::Message, Some(name)) => {
                let context = fields::context(&camel(name), around.field, around.any);
                OpenValue {
                    context,
                    field: name,
                    ..inside
                }
            }
            // The value of a map's key, or the element of an array: a list is no map.
            _ => OpenValue {
                context: Context::Message,
                ..inside
            },
        }
    }

    fn close(&mut self) -> fmt::Result {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        if !frame.empty {
            line(self.out, self.style, self.style.level + self.open.len())?;
        }
        self.out.write_char(char::from(frame.bracket + 2))
    }

    /// Writes a value at the depth limit as it stands; true when it has no end.
    fn deep(&mut self, tokens: &mut JsonScan<'a>) -> Result<bool, fmt::Error> {
        let Some(text) = tokens.nested() else {
            return Ok(true);
        };
        self.start_value()?;
        self.out.write_str(text)?;
        Ok(false)
    }

    fn finish(&mut self) -> fmt::Result {
        while !self.open.is_empty() {
            self.close()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
