//! JSON read in place: a value is a slice of its document, and nothing is parsed until asked for.
//!
//! A config dump of 100 MB answers most questions from a few kilobytes. So there is no tree:
//! walking an object *skips* the values nobody asked about, and skipping looks only at quotes and
//! at one kind of bracket. What is skipped is not checked; [`check`] is the strict reading, for
//! `bundle verify`.

use std::borrow::Cow;

mod check;
mod cursor;
mod locate;
mod text;
mod write;

pub use check::check;
pub use cursor::Cursor;
pub use locate::pointer_to;
pub use text::{escape, escape_into, unescape};
pub use write::{to_line, to_pretty};

/// One JSON value inside a document.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    doc: &'a str,
    start: usize,
    end: usize,
}

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number, `true`, `false`, `null` — or something that is not JSON at all, such as `NaN`.
    Scalar,
}

/// Why a document, or a part of it, could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    /// Byte offset in the document.
    pub at: usize,
    /// What is wrong there, without a full stop.
    pub what: String,
}

impl TextFault {
    /// What is wrong, and at which byte.
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
        }
    }
}

impl<'a> Raw<'a> {
    /// The document's one value. Its inside is not looked at: a document that is cut short gives a
    /// value that reaches to the end, and walking it reports the fault where it is met.
    ///
    /// # Errors
    /// When there is no value at all.
    pub fn of(doc: &'a str) -> Result<Self, TextFault> {
        let start = skip_space(doc.as_bytes(), behind_bom(doc));
        if start == doc.len() {
            return Err(TextFault::new(start, "the document is empty"));
        }
        Ok(Self {
            doc,
            start,
            end: doc.len(),
        })
    }

    /// Where the value starts in its document.
    pub fn offset(self) -> usize {
        self.start
    }

    /// Where the value ends in its document.
    pub fn end(self) -> usize {
        self.end
    }

    /// The value that starts at `offset`, somewhere inside this one. Like [`Cursor::peek`]'s it can
    /// be walked, but its text goes on behind it.
    #[must_use]
    pub fn inside(self, offset: usize) -> Raw<'a> {
        Raw {
            start: offset.clamp(self.start, self.end),
            ..self
        }
    }

    /// The value as it stands in the document.
    pub fn text(self) -> &'a str {
        &self.doc[self.start..self.end]
    }

    /// What the value is.
    pub fn kind(self) -> ValueKind {
        match self.doc.as_bytes().get(self.start) {
            Some(b'{') => ValueKind::Object,
            Some(b'[') => ValueKind::Array,
            Some(b'"') => ValueKind::String,
            _ => ValueKind::Scalar,
        }
    }

    /// A cursor at this value, to read it in one pass.
    pub fn cursor(self) -> Cursor<'a> {
        Cursor::new(self.doc, self.start)
    }

    /// The members of an object in document order; nothing for any other value.
    pub fn members(self) -> Members<'a> {
        Members(ItemWalk::at(self.doc, self.start, b'{', b'}'))
    }

    /// The elements of an array in document order; nothing for any other value.
    pub fn elements(self) -> Elements<'a> {
        Elements(ItemWalk::at(self.doc, self.start, b'[', b']'))
    }

    /// The member of that name. Of duplicates the first one counts.
    pub fn get(self, key: &str) -> Option<Raw<'a>> {
        self.members()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value)
    }

    /// The value at a path of member names.
    pub fn at<const N: usize>(self, path: [&str; N]) -> Option<Raw<'a>> {
        let mut value = self;
        for key in path {
            value = value.get(key)?;
        }
        Some(value)
    }

    /// The elements of the array at `key`; nothing when there is none.
    pub fn list(self, key: &str) -> impl Iterator<Item = Raw<'a>> + use<'a> {
        self.get(key).into_iter().flat_map(Raw::elements)
    }

    /// A string's text.
    pub fn string(self) -> Option<Cow<'a, str>> {
        if self.kind() != ValueKind::String {
            return None;
        }
        // The document's own value reaches to the end of the text, and may be cut short there.
        let end = skip_string(self.doc.as_bytes(), self.start)?;
        Some(unescape(&self.doc[self.start + 1..end - 1]))
    }

    /// The text of the string member `key`.
    pub fn string_at(self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string()
    }

    /// A number. Proto3 JSON writes 64-bit integers as strings, so `"7"` is 7.
    pub fn number(self) -> Option<u64> {
        match self.kind() {
            ValueKind::Scalar => self.text().parse().ok(),
            ValueKind::String => self.string()?.parse().ok(),
            ValueKind::Object | ValueKind::Array => None,
        }
    }

    /// `true` or `false`.
    pub fn bool(self) -> Option<bool> {
        match self.text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

/// See [`Raw::members`].
#[derive(Clone, Debug)]
pub struct Members<'a>(ItemWalk<'a>);

/// See [`Raw::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a>(ItemWalk<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.name()?;
        Some((name, self.0.value()?))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.advance() {
            self.0.value()
        } else {
            None
        }
    }
}

impl Members<'_> {
    /// Where the name of the member last given stands, quotes included.
    pub fn key_span(&self) -> std::ops::Range<usize> {
        self.0.key.clone()
    }

    /// What ended the walk early, once it has ended.
    pub fn fault(&self) -> Option<&TextFault> {
        self.0.fault.as_ref()
    }
}

impl Elements<'_> {
    /// What ended the walk early, once it has ended.
    pub fn fault(&self) -> Option<&TextFault> {
        self.0.fault.as_ref()
    }
}

/// The walk over the items of one object or array.
#[derive(Clone, Debug)]
struct ItemWalk<'a> {
    doc: &'a str,
    at: usize,
    close: u8,
    first: bool,
    done: bool,
    key: std::ops::Range<usize>,
    fault: Option<TextFault>,
}

impl<'a> ItemWalk<'a> {
    /// A walk over the value at `start`; done at once when it does not open with `open`.
    fn at(doc: &'a str, start: usize, open: u8, close: u8) -> Self {
        let opens = doc.as_bytes().get(start) == Some(&open);
        Self {
            doc,
            at: start + 1,
            close,
            first: true,
            done: !opens,
            key: 0..0,
            fault: None,
        }
    }

    fn fail<T>(&mut self, at: usize, what: &str) -> Option<T> {
        self.done = true;
        let what = if at >= self.doc.len() {
            "the document is cut short"
        } else {
            what
        };
        self.fault = Some(TextFault::new(at.min(self.doc.len()), what));
        None
    }

    /// Moves to the next item; false behind the last one.
    fn advance(&mut self) -> bool {
        if self.done {
            return false;
        }
        let bytes = self.doc.as_bytes();
        let at = skip_space(bytes, self.at);
        match (bytes.get(at), self.first) {
            (Some(&b), _) if b == self.close => {
                self.done = true;
                self.at = at + 1;
            }
            (Some(b','), false) => self.at = skip_space(bytes, at + 1),
            (Some(_), true) => self.at = at,
            _ => {
                return self
                    .fail::<()>(at, "expected `,` or the closing bracket")
                    .is_some();
            }
        }
        self.first = false;
        !self.done
    }

    /// Moves to the next member's value and gives its name.
    fn name(&mut self) -> Option<Cow<'a, str>> {
        if !self.advance() {
            return None;
        }
        let bytes = self.doc.as_bytes();
        let start = self.at;
        if bytes.get(start) != Some(&b'"') {
            return self.fail(start, "expected a member name in quotes");
        }
        let Some(end) = skip_string(bytes, start) else {
            return self.fail(self.doc.len(), "");
        };
        let colon = skip_space(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            return self.fail(colon, "expected `:` after a member name");
        }
        self.at = colon + 1;
        self.key = start..end;
        Some(unescape(&self.doc[start + 1..end - 1]))
    }

    fn value(&mut self) -> Option<Raw<'a>> {
        let start = skip_space(self.doc.as_bytes(), self.at);
        let Some(end) = skip_value(self.doc.as_bytes(), start) else {
            return self.fail(self.doc.len(), "");
        };
        if end == start {
            return self.fail(start, "expected a value");
        }
        self.at = end;
        Some(Raw {
            doc: self.doc,
            start,
            end,
        })
    }
}

/// Where a document starts behind its byte order mark. RFC 8259, 8.1: implementations "MAY ignore
/// the presence of a byte order mark rather than treating it as an error".
pub(crate) fn behind_bom(doc: &str) -> usize {
    if doc.starts_with('\u{feff}') { 3 } else { 0 }
}

/// The first byte at or after `at` that is not white space.
fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|b| !matches!(b, b' ' | b'\n' | b'\r' | b'\t'))
        .unwrap_or(rest.len())
}

/// The end of the value that starts at `at`; none when the document ends first.
fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => skip_string(bytes, at),
        b'{' => skip_nested(bytes, at, b'{', b'}'),
        b'[' => skip_nested(bytes, at, b'[', b']'),
        _ => {
            let end = bytes[at..].iter().position(|b| {
                matches!(b, b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t')
            });
            Some(at + end.unwrap_or(bytes.len() - at))
        }
    }
}

/// The end of the string whose opening quote is at `at`; none when the document ends first.
pub fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        // A backslash, and whatever it escapes: `\u` has no quote among its digits either.
        at += 2;
    }
}

/// In well-formed JSON the brackets of the other kind are balanced inside, so one kind is enough to
/// count. Brackets are rare and strings are not, so only the text just before a bracket is searched
/// for the string it may be in.
fn skip_nested(bytes: &[u8], at: usize, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0usize;
    // A place that is outside any string.
    let mut outside = at;
    loop {
        let bracket = outside + memchr::memchr2(open, close, bytes.get(outside..)?)?;
        let over = if ends_line(bytes, bracket) {
            bracket
        } else {
            end_of_string_over(bytes, outside, bracket)?
        };
        if over > bracket {
            outside = over;
            continue;
        }
        outside = bracket + 1;
        if bytes[bracket] == open {
            depth += 1;
        } else {
            depth -= 1;
            if depth == 0 {
                return Some(outside);
            }
        }
    }
}

/// Whether the line ends behind the bracket, which no string can reach over then. Envoy writes
/// nearly all of them so.
fn ends_line(bytes: &[u8], bracket: usize) -> bool {
    match bytes.get(bracket + 1) {
        Some(b'\n') => true,
        Some(b',') => bytes.get(bracket + 2) == Some(&b'\n'),
        _ => false,
    }
}

/// The end of the string that reaches over `at`, or `at` itself when none does; `outside` lies
/// before it and in no string. "All Unicode characters may be placed within the quotation marks,
/// except for […] the control characters": a line break is in no string, so the search starts at
/// the line that `at` is on. None when the document ends inside the string.
fn end_of_string_over(bytes: &[u8], outside: usize, at: usize) -> Option<usize> {
    let mut from =
        memchr::memrchr(b'\n', &bytes[outside..at]).map_or(outside, |line| outside + line + 1);
    while let Some(quote) = memchr::memchr(b'"', bytes.get(from..at)?) {
        from = skip_string(bytes, from + quote)?;
        if from > at {
            return Some(from);
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests;
