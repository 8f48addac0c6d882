//! What YAML says by its structure: read by the parser, or by lines where that gives up.

use std::ops::Range;

use super::cover::SecretForm;
use super::{SecretFinder, TextSyntax, block, flow, object};
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml::{self, Scalars};

/// A Secret may hold 1 MiB; with base64 and an annotated copy of itself it is below this.
const MAX_SECRET: usize = 4 << 20;

/// What is larger than this is read by lines alone: a tree takes many times the memory of its text.
const MAX_TREE: usize = 8 << 20;

impl<'a> SecretFinder<'a> {
    /// Judges the names and values that were left until the whole text was seen.
    pub(super) fn structure(&mut self) {
        let mut hits = std::mem::take(&mut self.block);
        if hits.is_empty() {
            return;
        }
        hits.sort_unstable();
        let mut rest = &hits[..];
        for part in self.parts() {
            let (inside, behind) = rest.split_at(rest.partition_point(|&at| at < part.range().end));
            if !inside.is_empty() {
                self.part(&part, inside);
            }
            rest = behind;
        }
        for &at in rest {
            self.by_lines(at);
        }
    }

    /// The documents of a YAML text.
    fn parts(&self) -> Vec<yaml::StreamPart<'a>> {
        match str::from_utf8(self.text) {
            Ok(text) if self.format == TextSyntax::Yaml => yaml::split(text),
            _ => Vec::new(),
        }
    }

    /// Judges one document of a YAML text. One with anything wrong is read by lines as well: a
    /// parser leaves out what it cannot read, and of two members with the same name the first.
    fn part(&mut self, part: &yaml::StreamPart<'_>, hits: &[usize]) {
        let loaded = if part.range().len() > MAX_TREE {
            yaml::YamlStream::default()
        } else {
            part.load(&mut Scalars::default())
        };
        let mut spans = Vec::new();
        for document in &loaded.documents {
            object::tree(document, &mut spans);
        }
        self.spans(spans);
        let is_whole = loaded.problems.is_empty() && !loaded.documents.is_empty();
        for &at in hits {
            if is_whole {
                self.inside_scalar(&loaded.documents, at);
            } else {
                self.by_lines(at);
            }
        }
    }

    /// A place inside a scalar is in a text of its own.
    fn inside_scalar(&mut self, documents: &[Node], at: usize) {
        let around = documents
            .iter()
            .find_map(|document| scalar_around(document, at));
        let Some(scalar) = around else { return };
        match self.text[scalar.start] {
            b'"' if scalar.start >= self.seen.opened && scalar.len() > 1 => {
                self.open(scalar.start + 1..scalar.end - 1);
            }
            b'|' | b'>' => self.by_lines(at),
            b'\'' => {
                let first = self.marks.len();
                self.by_lines(at);
                // Another single quote would end it.
                for mark in &mut self.marks[first..] {
                    mark.form = SecretForm::Text;
                }
            }
            _ => {}
        }
    }

    /// Judges the key at a place, or the mapping that the value at a place is in.
    fn by_lines(&mut self, at: usize) {
        if self.is_exhausted() {
            return;
        }
        let place = block::key_place(self.text, at);
        if place != at {
            return self.mapping(place);
        }
        let Some(member) = block::member(self.text, place) else {
            return self.list_argument(at);
        };
        if matches!(&*member.key, "stringData" | "kty") {
            return self.mapping(place);
        }
        if self.can_afford(place..member.value.span.end()) {
            let mut spans = Vec::new();
            object::member(&member.key, &member.value, &mut spans);
            self.spans(spans);
        }
    }

    /// Judges the item behind `- --password` by that name.
    fn list_argument(&mut self, at: usize) {
        let Some(value) = block::next_item(self.text, at) else {
            return;
        };
        let line = &self.text[at..];
        let flag = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        let mut spans = Vec::new();
        object::member(&flow::scalar_text(flag.trim_ascii()), &value, &mut spans);
        self.spans(spans);
    }

    fn mapping(&mut self, place: usize) {
        let start = block::mapping_start(self.text, place, self.seen.mapping);
        let known = self.seen.mapping.replace((place, start));
        if known.is_some_and(|(_, known)| known == start) {
            return;
        }
        let mapping = block::mapping(self.text, start);
        if self.can_afford(start..place.max(mapping.span.end())) {
            let mut spans = Vec::new();
            object::object(&mapping, &mut spans);
            self.spans(spans);
        }
    }

    /// A document may end inside a Secret, before it says that it is one.
    pub(super) fn cut_secret(&mut self) {
        let tail = self.text.len().saturating_sub(MAX_SECRET);
        if self.format != TextSyntax::Yaml {
            if let Some(at) = memchr::memmem::rfind(&self.text[tail..], b"\"data\"") {
                self.object_around(tail + at);
            }
            return;
        }
        let mut last = None;
        for at in memchr::memmem::find_iter(&self.text[tail..], b"data:") {
            if block::key_place(self.text, tail + at) == tail + at {
                last = Some(tail + at);
            }
        }
        if let Some(at) = last {
            self.mapping(at);
        }
    }
}

/// The values that aliases of that name stand for: they are where its anchors are.
pub(super) fn anchored(text: &[u8], name: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for at in memchr::memmem::find_iter(text, name) {
        let end = at + name.len();
        if text[..at].ends_with(b"&") && text.get(end).is_some_and(u8::is_ascii_whitespace) {
            object::leaves(&block::anchored(text, end), &mut spans);
        }
    }
    spans
}

/// The place of the scalar that holds `at`.
fn scalar_around(node: &Node, at: usize) -> Option<Range<usize>> {
    match &node.value {
        Value::Object(members) => {
            let next = members.partition_point(|member| member.value.span.end() <= at);
            scalar_around(&members.get(next)?.value, at)
        }
        Value::Array(items) => {
            let next = items.partition_point(|item| item.span.end() <= at);
            scalar_around(items.get(next)?, at)
        }
        Value::String(_) => node.span.range().contains(&at).then(|| node.span.range()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
