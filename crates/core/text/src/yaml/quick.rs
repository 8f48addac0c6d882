//! A quick reader for the YAML that `kubectl`, Helm and most people write.
//!
//! It knows block mappings and sequences, scalars and flow collections on one line, and literal
//! blocks. At anything else, and at everything that may be wrong, it gives up, and the real parser
//! reads the document from its start. So it needs no messages, and what it does read must come out
//! as it would from the real one.

mod flow;
mod literal;
mod word;

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::ScalarStyle;

use super::members::{LineNumbers, MappingMembers};
use super::scalars::Scalars;
use super::split::{StreamPart, behind_marker};
use super::{YamlLimits, YamlStream, scalar};
use crate::json::TextFault;
use crate::name::Name;
use crate::tree::{MAX_DEPTH, Member, Node, Span, Value};

/// Reads a part; none when it takes a real parser to do so.
pub(super) fn read(
    part: &StreamPart<'_>,
    limits: YamlLimits,
    scalars: &mut Scalars,
) -> Option<YamlStream> {
    // No tabs and no carriage returns; and none of the bytes that lead to characters YAML forbids,
    // beside others: C1 controls start with C2, the byte order mark and the last two code points
    // with EF.
    let plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | 0x80..=0xc1 | 0xc3..=0xee | 0xf0..);
    if !part.as_str().as_bytes().iter().all(plain) {
        return None;
    }
    let start = part.range().end - behind_marker(part.as_str()).len();
    let bytes = &part.text().as_bytes()[..part.range().end];
    let mut reader = QuickReader {
        text: part.text(),
        bytes,
        at: start,
        indent: 0,
        depth: 0,
        left: limits.written,
        lines: LineNumbers::new(part),
        scalars,
        items: Vec::new(),
        members: Vec::new(),
        problems: Vec::new(),
    };
    if start > part.range().start {
        reader.end_line(start)?;
    } else {
        reader.next_line(start);
    }
    let root = reader.collection()?;
    (reader.at == bytes.len()).then(|| YamlStream {
        documents: vec![root],
        problems: reader.problems,
    })
}

/// Longer keys are no keys without a `?`: the limit is 1024 characters.
const LONGEST_KEY: usize = 1000;

struct QuickReader<'a> {
    text: &'a str,
    /// The text up to the end of the part.
    bytes: &'a [u8],
    /// Where the next thing to read stands; the end of the part when there is none.
    at: usize,
    /// The column of `at`.
    indent: usize,
    /// How many collections are open.
    depth: usize,
    /// How many values the document may still hold.
    left: usize,
    lines: LineNumbers<'a>,
    scalars: &'a mut Scalars,
    /// The items and members of the collections that are open: each takes its own off the end when
    /// it closes.
    items: Vec<Node>,
    members: Vec<Member>,
    problems: Vec<TextFault>,
}

impl QuickReader<'_> {
    /// Moves to the next line with content, starting with the line at `from`.
    fn next_line(&mut self, from: usize) {
        let mut line = from;
        loop {
            let start = self.skip_spaces(line);
            match self.bytes.get(start) {
                Some(b'\n') => line = start + 1,
                Some(b'#') => line = self.line_end(start) + 1,
                Some(_) => {
                    (self.at, self.indent) = (start, start - line);
                    return;
                }
                None => {
                    (self.at, self.indent) = (self.bytes.len(), 0);
                    return;
                }
            }
        }
    }

    /// Moves to the next line, provided that nothing but a comment follows at `end`.
    fn end_line(&mut self, end: usize) -> Option<()> {
        let rest = self.skip_spaces(end);
        match self.bytes.get(rest) {
            Some(b'#') if rest > end => {}
            None | Some(b'\n') => {}
            _ => return None,
        }
        self.next_line(self.line_end(rest) + 1);
        Some(())
    }

    fn skip_spaces(&self, at: usize) -> usize {
        at + self
            .bytes
            .get(at..)
            .map_or(0, |rest| rest.iter().take_while(|&&b| b == b' ').count())
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |newline| at + newline)
    }

    fn is_end_of_word(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), None | Some(b' ' | b'\n'))
    }

    fn is_item(&self, at: usize) -> bool {
        self.bytes.get(at) == Some(&b'-') && self.is_end_of_word(at + 1)
    }

    fn count(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    /// Reads the block collection whose first line this is.
    fn collection(&mut self) -> Option<Node> {
        self.count()?;
        self.depth += 1;
        let (start, indent) = (self.at, self.indent);
        let (value, end) = if self.is_item(start) {
            self.sequence(indent)?
        } else {
            self.mapping(indent)?
        };
        self.depth -= 1;
        Some(Node {
            value,
            span: (start..end).into(),
        })
    }

    fn sequence(&mut self, indent: usize) -> Option<(Value, usize)> {
        let first = self.items.len();
        while self.indent == indent && self.is_item(self.at) {
            let dash = self.at;
            let start = self.skip_spaces(dash + 1);
            let item = if self.is_item(start) || self.key_end(start).is_some() {
                (self.at, self.indent) = (start, indent + (start - dash));
                self.collection()?
            } else {
                self.value(dash + 1, indent, false)?
            };
            self.items.push(item);
        }
        let end = self.items.get(first..)?.last()?.span.end();
        Some((Value::Array(self.items.drain(first..).collect()), end))
    }

    fn mapping(&mut self, indent: usize) -> Option<(Value, usize)> {
        let first = self.members.len();
        let mut end = None;
        while self.at < self.bytes.len() && self.indent == indent && !self.is_item(self.at) {
            self.count()?;
            let key_end = self.key_end(self.at)?;
            let key_span = self.at..key_end;
            let key = self.key(key_span.clone())?;
            let value = self.value(key_end + 1, indent, true)?;
            end = Some(value.span.end());
            self.members.push(Member {
                key,
                key_span: key_span.into(),
                value,
            });
        }
        Some((Value::Object(self.close(first)), end?))
    }

    /// The members since `first`, each name once.
    fn close(&mut self, first: usize) -> Box<[Member]> {
        MappingMembers::of(self.members.drain(first..).collect())
            .finish(&mut self.lines, &mut self.problems)
    }

    /// Where the key that starts here ends; none when there is no plain key with a colon behind it.
    fn key_end(&self, start: usize) -> Option<usize> {
        let end = word::end(self.bytes, start)?;
        let fits = end - start <= LONGEST_KEY
            && self.bytes.get(end) == Some(&b':')
            && self.is_end_of_word(end + 1);
        fits.then_some(end)
    }

    fn key(&mut self, span: Range<usize>) -> Option<Name> {
        let text = &self.text[span.clone()];
        if let Some(name) = self.scalars.names.find(text) {
            return Some(name);
        }
        let problems = self.problems.len();
        let name: Name = match self.quoted_or_plain(span)? {
            Value::Null => return None,
            value => scalar::key(value)?.into(),
        };
        // Only what means itself, and without a word about it, may be taken for it the next time.
        let is_plain =
            !text.starts_with(['"', '\'']) && *name == *text && self.problems.len() == problems;
        if is_plain {
            self.scalars.names.keep(&name);
        }
        Some(name)
    }

    /// Reads what follows a `-` or a key with its colon in a collection at `indent`, and moves
    /// behind it.
    fn value(&mut self, at: usize, indent: usize, in_mapping: bool) -> Option<Node> {
        let start = self.skip_spaces(at);
        let node = match self.bytes.get(start) {
            None | Some(b'\n' | b'#') => {
                self.end_line(at)?;
                let indentless = in_mapping && self.indent == indent && self.is_item(self.at);
                if self.indent > indent || indentless {
                    self.collection()?
                } else {
                    self.count()?;
                    Node {
                        value: Value::Null,
                        span: Span::at(at),
                    }
                }
            }
            Some(b'|') => self.literal(start, indent)?,
            Some(_) => {
                let node = self.inline(start)?;
                self.end_line(node.span.end())?;
                node
            }
        };
        (self.indent <= indent).then_some(node)
    }

    /// Reads a scalar or a flow collection that ends on its line.
    fn inline(&mut self, start: usize) -> Option<Node> {
        let end = match self.bytes[start] {
            b'[' | b'{' => return self.flow(start),
            quote @ (b'"' | b'\'') => word::quoted_end(self.bytes, start, quote)?,
            _ => word::plain_end(&self.bytes[start..self.line_end(start)])
                .map(|length| start + length)?,
        };
        self.count()?;
        Some(Node {
            value: self.quoted_or_plain(start..end)?,
            span: (start..end).into(),
        })
    }

    fn quoted_or_plain(&mut self, span: Range<usize>) -> Option<Value> {
        let text = &self.text[span.clone()];
        if text.starts_with(['"', '\'']) {
            return word::unquote(text).map(|text| Value::String(text.into()));
        }
        if let Some(value) = self.scalars.find(text) {
            return Some(value);
        }
        let (value, problem) = scalar::value(Cow::Borrowed(text), ScalarStyle::Plain, None);
        match problem {
            Some(what) => self.problems.push(TextFault::new(span.start, what)),
            None => self.scalars.keep(text, &value),
        }
        Some(value)
    }
}
