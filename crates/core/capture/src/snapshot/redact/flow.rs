//! Values in JSON's notation or YAML's flow style, read without ever giving up.
//!
//! What is broken or cut short still has names and values; all that matters is that no value is
//! missed.

use std::ops::Range;

use super::token::run;
use meshladder_text::json;
use meshladder_text::tree::{MAX_DEPTH, Member, Node, Value};

/// Reads the value at `at`.
pub(super) fn value(text: &[u8], at: usize) -> Node {
    FlowReader { text, at, depth: 0 }.value()
}

/// A place in a document and the start of what is around it, if anything is.
pub(super) type KnownOpener = (usize, Option<usize>);

/// The start of the innermost object or array around `at`, which is a place outside of any string.
/// `known` is such a place further left: no text is gone through twice.
pub(super) fn opener(
    text: &[u8],
    mut at: usize,
    known: Option<KnownOpener>,
    floor: usize,
) -> Option<usize> {
    let mut closed = 0usize;
    while at > floor {
        at -= 1;
        match text[at] {
            b'"' => at = open_quote(text, at)?,
            b'}' | b']' => closed += 1,
            b'{' | b'[' if closed == 0 => return Some(at),
            b'{' | b'[' => closed -= 1,
            _ => {}
        }
        if let Some((place, opener)) = known
            && place == at
            && closed == 0
        {
            return opener;
        }
    }
    None
}

/// The last `"` before `at` that is not escaped.
pub(super) fn open_quote(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = memchr::memrchr(b'"', &text[..at])?;
        let backslashes = text[..at].iter().rev().take_while(|&&b| b == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

/// The end of what stands in quotes from `start`, the closing quote not included.
pub(super) fn close_quote(text: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while let Some(next) = text
        .get(at..)
        .and_then(|rest| memchr::memchr2(quote, b'\\', rest))
    {
        at += next;
        match text[at] {
            b'\\' if quote == b'"' => at += 2,
            b'\\' => at += 1,
            // In single quotes a quote is written twice.
            _ if quote == b'\'' && text.get(at + 1) == Some(&quote) => at += 2,
            _ => return at,
        }
    }
    text.len()
}

pub(super) fn skip_space(text: &[u8], at: usize) -> usize {
    run(text, at.min(text.len()), |b| b.is_ascii_whitespace())
}

/// The text of a scalar, quotes and escapes taken off.
pub(super) fn scalar_text(raw: &[u8]) -> std::sync::Arc<str> {
    let inside = match raw {
        [quote @ (b'"' | b'\''), inside @ ..] => inside.strip_suffix(&[*quote]).unwrap_or(inside),
        _ => raw,
    };
    let inside = String::from_utf8_lossy(inside);
    if raw.starts_with(b"\"") {
        json::unescape(&inside).into()
    } else {
        inside.into()
    }
}

/// The value that a scalar is.
pub(super) fn scalar(raw: &[u8]) -> Value {
    match raw {
        b"null" | b"~" => Value::Null,
        b"true" => Value::Bool(true),
        b"false" => Value::Bool(false),
        _ if raw.iter().all(|&b| is_of_number(b)) => Value::Number(scalar_text(raw)),
        _ => Value::String(scalar_text(raw)),
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

struct FlowReader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl FlowReader<'_> {
    fn value(&mut self) -> Node {
        self.at = skip_space(self.text, self.at);
        let start = self.at;
        let is_deep = self.depth == MAX_DEPTH;
        let value = match self.text.get(start) {
            None | Some(b',' | b'}' | b']') => Value::Null,
            Some(b'{') if !is_deep => self.object(),
            Some(b'[') if !is_deep => self.array(),
            Some(_) => {
                let raw = self.scalar();
                scalar(&self.text[raw])
            }
        };
        Node {
            value,
            span: (start..self.at).into(),
        }
    }

    fn object(&mut self) -> Value {
        let mut members = Vec::new();
        self.at += 1;
        while self.next_item() {
            members.push(self.member());
        }
        Value::Object(members.into())
    }

    fn member(&mut self) -> Member {
        let span = self.scalar();
        let raw = &self.text[span.clone()];
        let colon = skip_space(self.text, self.at);
        if self.text.get(colon) == Some(&b':') {
            self.at = colon + 1;
            return Member {
                key: scalar_text(raw).into(),
                value: self.nested_value(),
                key_span: span.into(),
            };
        }
        // A name without a value or a value without a name: it is taken for a value.
        let value = Node {
            value: scalar(raw),
            span: span.into(),
        };
        Member {
            key: "".into(),
            key_span: value.span,
            value,
        }
    }

    fn array(&mut self) -> Value {
        let mut items = Vec::new();
        self.at += 1;
        while self.next_item() {
            items.push(self.nested_value());
        }
        Value::Array(items.into())
    }

    fn nested_value(&mut self) -> Node {
        self.depth += 1;
        let value = self.value();
        self.depth -= 1;
        value
    }

    /// Moves to the next member or element; false behind the closing bracket and at the end of the
    /// text.
    fn next_item(&mut self) -> bool {
        self.at = run(self.text, self.at, |b| b.is_ascii_whitespace() || b == b',');
        match self.text.get(self.at) {
            None => false,
            Some(b'}' | b']') => {
                self.at += 1;
                false
            }
            Some(_) => true,
        }
    }

    /// Moves behind a scalar.
    fn scalar(&mut self) -> Range<usize> {
        let start = self.at;
        self.at = match self.text[start] {
            quote @ (b'"' | b'\'') => {
                (close_quote(self.text, start + 1, quote) + 1).min(self.text.len())
            }
            _ => self.bare_end(start),
        };
        start..self.at
    }

    /// The end of a scalar without quotes. It is never empty, so that every call moves on.
    fn bare_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        while let Some(&byte) = self.text.get(end) {
            if b",]}\n".contains(&byte) || byte == b':' && self.is_before_value(end + 1) {
                break;
            }
            end += 1;
        }
        start + self.text[start..end].trim_ascii_end().len().max(1)
    }

    /// Whether what stands here makes the colon before it the end of a name: `a:b` is one scalar.
    fn is_before_value(&self, at: usize) -> bool {
        match self.text.get(at) {
            Some(b) => b.is_ascii_whitespace() || b"\"'{[".contains(b),
            None => true,
        }
    }
}
