//! YAML's block style read by lines and indentation, without ever giving up: see [`super::flow`].
//!
//! For YAML that a parser refuses, and for YAML inside other texts. Whatever is no name is taken
//! for a value.

use std::ops::Range;

use super::flow;
use super::token::run;
use meshladder_text::tree::{MAX_DEPTH, Member, Node, Span, Value};

/// Where the mapping starts that the line of `at` belongs to. `known` is a line of a mapping
/// further up (as the place of its key) with its answer: no text is gone through twice.
pub(super) fn mapping_start(text: &[u8], at: usize, known: Option<(usize, usize)>) -> usize {
    let mut line = BlockLine::around(text, at);
    let column = line.key_column();
    let mut start = line.start + column;
    // A line that is indented less ends the mapping, unless nothing is on it.
    while line.indent() >= column || line.is_blank() {
        let Some(above) = line.above() else { break };
        line = above;
        if line.is_marker() {
            break;
        }
        let is_key = line.indent() == column && !line.has_dash()
            || line.indent() < column && line.key_column() == column;
        if is_key && !line.is_blank() {
            start = line.start + column;
        }
        if let Some((place, answer)) = known
            && place == line.start + column
        {
            return answer;
        }
    }
    start
}

/// The place of the key, or of the list item without a key, on the line of `at`.
pub(super) fn key_place(text: &[u8], at: usize) -> usize {
    let line = BlockLine::around(text, at);
    line.start + line.key_column()
}

/// Reads the mapping that starts at `start`.
pub(super) fn mapping(text: &[u8], start: usize) -> Node {
    let column = start - BlockLine::around(text, start).start;
    BlockReader::new(text, start).mapping(column)
}

/// Reads the one member whose key is at `start`.
pub(super) fn member(text: &[u8], start: usize) -> Option<Member> {
    let column = start - BlockLine::around(text, start).start;
    BlockReader::new(text, start).member(column)
}

/// Reads the list item that follows the one on the line of `at`.
pub(super) fn next_item(text: &[u8], at: usize) -> Option<Node> {
    let item = BlockLine::around(text, at);
    let next = item.below()?;
    if !next.has_dash() || next.indent() != item.indent() {
        return None;
    }
    let start = next.start + next.key_column();
    Some(BlockReader::new(text, start).scalar(start, next.indent()))
}

/// Reads the value that the anchor which ends at `at` is put on.
pub(super) fn anchored(text: &[u8], at: usize) -> Node {
    let line = BlockLine::around(text, at);
    BlockReader::new(text, at).value_of_key(at, line.key_column())
}

#[derive(Clone, Copy)]
struct BlockLine<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> BlockLine<'a> {
    fn around(text: &'a [u8], at: usize) -> Self {
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length);
        Self { text, start, end }
    }

    fn above(self) -> Option<Self> {
        (self.start > 0).then(|| Self::around(self.text, self.start - 1))
    }

    fn below(self) -> Option<Self> {
        (self.end < self.text.len()).then(|| Self::around(self.text, self.end + 1))
    }

    fn bytes(self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }

    fn indent(self) -> usize {
        run(self.bytes(), 0, |b| b == b' ' || b == b'\t')
    }

    /// Nothing, or nothing but a comment.
    fn is_blank(self) -> bool {
        matches!(self.bytes().trim_ascii().first(), None | Some(b'#'))
    }

    fn is_marker(self) -> bool {
        self.bytes().starts_with(b"---") || self.bytes().starts_with(b"...")
    }

    fn has_dash(self) -> bool {
        is_dash(&self.bytes()[self.indent()..])
    }

    /// The column behind the indentation and the dashes.
    fn key_column(self) -> usize {
        let line = self.bytes();
        let mut column = self.indent();
        while is_dash(&line[column..]) {
            column = run(line, column + 1, |b| b == b' ');
        }
        column
    }
}

fn is_dash(content: &[u8]) -> bool {
    content.first() == Some(&b'-') && content.get(1).is_none_or(u8::is_ascii_whitespace)
}

struct BlockReader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> BlockReader<'a> {
    fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at, depth: 0 }
    }

    /// The next line with something on it, of those below `at`; none at the end of the document.
    fn line_below(&self) -> Option<BlockLine<'a>> {
        let mut line = BlockLine::around(self.text, self.at).below()?;
        while line.is_blank() {
            line = line.below()?;
        }
        if line.is_marker() {
            return None;
        }
        Some(line)
    }

    /// The value at the reader's place; what belongs to it is indented deeper than `parent`.
    fn node(&mut self, column: usize, parent: usize) -> Node {
        let rest = &self.text[self.at..];
        self.depth += 1;
        let node = if self.depth > MAX_DEPTH {
            self.scalar(self.at, parent)
        } else if is_dash(rest) {
            self.sequence(column)
        } else if self.key().is_some() {
            self.mapping(column)
        } else {
            self.scalar(self.at, parent)
        };
        self.depth -= 1;
        node
    }

    fn mapping(&mut self, column: usize) -> Node {
        let start = self.at;
        let mut members = Vec::new();
        loop {
            members.push(match self.member(column) {
                Some(member) => member,
                // Whatever is no name is taken for a value.
                None => nameless(self.scalar(self.at, column)),
            });
            let Some(line) = self.line_below() else { break };
            let is_key = line.indent() == column && !line.has_dash();
            // Deeper than it should be; it is still in here somewhere.
            let is_stray = line.indent() > column;
            if !is_key && !is_stray {
                break;
            }
            self.at = line.start + line.indent();
        }
        Node {
            value: Value::Object(members.into()),
            span: (start..self.at).into(),
        }
    }

    fn sequence(&mut self, column: usize) -> Node {
        let start = self.at;
        let mut items = Vec::new();
        loop {
            let content = run(self.text, self.at + 1, |b| b == b' ');
            items.push(self.nested(content, column + content - self.at, column));
            let Some(line) = self.line_below() else { break };
            if line.indent() != column || !line.has_dash() {
                break;
            }
            self.at = line.start + column;
        }
        Node {
            value: Value::Array(items.into()),
            span: (start..self.at).into(),
        }
    }

    fn member(&mut self, column: usize) -> Option<Member> {
        let (key_span, colon) = self.key()?;
        let key = flow::scalar_text(&self.text[key_span.clone()]);
        let value = self.value_of_key(colon + 1, column);
        Some(Member {
            key: key.into(),
            key_span: key_span.into(),
            value,
        })
    }

    fn value_of_key(&mut self, place: usize, column: usize) -> Node {
        let place = self.without_properties(place);
        match self.text.get(place) {
            None | Some(b'\n' | b'\r' | b'#') => self.value_below(place, column),
            Some(_) => self.scalar(place, column),
        }
    }

    /// The value of a list item: on the line of its dash, or below.
    fn nested(&mut self, place: usize, column: usize, parent: usize) -> Node {
        let place = self.without_properties(place);
        match self.text.get(place) {
            None | Some(b'\n' | b'\r' | b'#') => self.value_below(place, parent),
            Some(_) => {
                self.at = place;
                self.node(column, parent)
            }
        }
    }

    /// The value that starts on a line of its own below `place`.
    fn value_below(&mut self, place: usize, parent: usize) -> Node {
        self.at = place;
        // A list may stand right under its key.
        if let Some(line) = self.line_below()
            && (line.indent() > parent || line.indent() == parent && line.has_dash())
        {
            self.at = line.start + line.indent();
            return self.node(line.indent(), parent);
        }
        Node {
            value: Value::Null,
            span: Span::at(place),
        }
    }

    /// A value that is no block of lines with keys or dashes. It ends where a line is not deeper
    /// than `parent`.
    fn scalar(&mut self, start: usize, parent: usize) -> Node {
        let line = BlockLine::around(self.text, start);
        let node = match self.text.get(start) {
            Some(b'{' | b'[') => flow::value(self.text, start),
            Some(&quote @ (b'"' | b'\'')) => {
                let end = (flow::close_quote(self.text, start + 1, quote) + 1).min(self.text.len());
                scalar(self.text, start..end)
            }
            Some(b'|' | b'>') => scalar(self.text, start..end_of_deeper(line, parent).max(start)),
            _ => scalar(self.text, start..self.plain_end(start, line, parent)),
        };
        self.at = node.span.end().max(start);
        node
    }

    /// The end of a plain scalar that starts on this line: the lines below that belong to it, or
    /// what stands on the line before a comment.
    fn plain_end(&self, start: usize, line: BlockLine<'_>, parent: usize) -> usize {
        let end = end_of_deeper(line, parent);
        if end > line.end {
            return end;
        }
        let text = &self.text[start..line.end];
        let comment = memchr::memmem::find(text, b" #").unwrap_or(text.len());
        start + text[..comment].trim_ascii_end().len()
    }

    /// The key at the reader's place, and its colon.
    fn key(&self) -> Option<(Range<usize>, usize)> {
        let line = &self.text[self.at..BlockLine::around(self.text, self.at).end];
        let end = match line.first()? {
            &quote @ (b'"' | b'\'') => flow::close_quote(line, 1, quote) + 1,
            b'{' | b'[' | b'|' | b'>' | b'#' | b'%' | b'@' | b'`' => return None,
            _ => (0..line.len()).find(|&at| is_colon(line, at))?,
        };
        let colon = run(line, end.min(line.len()), |b| b == b' ');
        if !is_colon(line, colon) {
            return None;
        }
        Some((self.at..self.at + end, self.at + colon))
    }

    /// Goes past an anchor and a tag.
    fn without_properties(&self, place: usize) -> usize {
        let mut place = run(self.text, place, |b| b == b' ' || b == b'\t');
        while matches!(self.text.get(place), Some(b'&' | b'!')) {
            place = run(self.text, place, |b| !b.is_ascii_whitespace());
            place = run(self.text, place, |b| b == b' ');
        }
        place
    }
}

/// Whether a colon that ends a key stands there: `a:b` is a value.
fn is_colon(line: &[u8], at: usize) -> bool {
    line.get(at) == Some(&b':') && line.get(at + 1).is_none_or(u8::is_ascii_whitespace)
}

fn nameless(node: Node) -> Member {
    Member {
        key: "".into(),
        key_span: Span::at(node.span.start()),
        value: node,
    }
}

fn scalar(text: &[u8], span: Range<usize>) -> Node {
    Node {
        value: flow::scalar(&text[span.clone()]),
        span: span.into(),
    }
}

/// The end of the last of the lines that follow and are indented deeper than `parent`.
fn end_of_deeper(mut line: BlockLine<'_>, parent: usize) -> usize {
    let mut end = line.end;
    while let Some(below) = line.below() {
        let is_empty = below.bytes().trim_ascii().is_empty();
        if !is_empty && (below.indent() <= parent || below.is_marker()) {
            break;
        }
        line = below;
        end = if is_empty { end } else { line.end };
    }
    line.text[..end].trim_ascii_end().len()
}
