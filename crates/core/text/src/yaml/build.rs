//! From the parser's events to trees.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle, Tag,
};

use super::anchors::Anchors;
use super::members::{LineNumbers, MappingMembers};
use super::split::StreamPart;
use super::{YamlStream, gap, scalar};
use crate::json::TextFault;
use crate::name::Name;
use crate::tree::{MAX_DEPTH, Member, Node, Value};

/// How much one document may hold, so that a small text cannot fill the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlLimits {
    /// Values written in the document.
    pub(super) written: usize,
    /// Values that aliases repeat; a long text counts for several.
    pub(super) copied: usize,
}

impl Default for YamlLimits {
    fn default() -> Self {
        // A list of everything in a large cluster has some hundred thousand values for each 10 MB.
        // Nobody repeats values by the thousand; go-yaml gives up at 400,000.
        Self {
            written: 10_000_000,
            copied: 250_000,
        }
    }
}

/// Takes the parser's events one by one and keeps what is open.
pub(super) struct EventReader<'a> {
    part: &'a StreamPart<'a>,
    limits: YamlLimits,
    lines: LineNumbers<'a>,
    loaded: YamlStream,
    document: OpenDocument,
}

/// The document being read.
#[derive(Default)]
struct OpenDocument {
    /// Its open collections, outermost first.
    open: Vec<OpenCollection>,
    root: Option<Node>,
    anchors: Anchors,
    /// How many values it holds so far.
    written: usize,
    /// How far the events have come in the text.
    reached: usize,
}

struct OpenCollection {
    start: usize,
    /// Where its last child ends.
    end: usize,
    anchor: usize,
    inside: Collection,
}

enum Collection {
    Sequence(Vec<Node>),
    Mapping(MappingMembers, Option<PendingKey>),
}

enum PendingKey {
    Name(Name, Range<usize>),
    Merge(Range<usize>),
}

impl<'a> EventReader<'a> {
    pub(super) fn new(part: &'a StreamPart<'a>, limits: YamlLimits) -> Self {
        Self {
            part,
            limits,
            lines: LineNumbers::new(part),
            loaded: YamlStream::default(),
            document: OpenDocument::default(),
        }
    }

    pub(super) fn run(mut self) -> YamlStream {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.emit_unresolved_aliases = true;
        for next in Parser::new_from_str_with_options(self.part.as_str(), options) {
            let step = match next {
                Ok((event, span)) => {
                    let span = self.absolute(span.byte_range().unwrap_or_default());
                    self.take(event, span)
                }
                Err(error) => Err(self.syntax(&error)),
            };
            // Behind a syntax error nothing can be trusted; what was whole before it stays.
            if let Err(fault) = step {
                self.loaded.problems.push(fault);
                break;
            }
        }
        self.loaded
    }

    fn absolute(&self, span: Range<usize>) -> Range<usize> {
        let base = self.part.range().start;
        base + span.start..base + span.end
    }

    fn syntax(&self, error: &ScanError) -> TextFault {
        let what = match error.kind() {
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation => "a tab cannot be used as indentation".to_owned(),
            ErrorKind::RecursionLimitExceeded => "nested too deep".to_owned(),
            kind => kind.to_string(),
        };
        let at = self.part.range().start + error.marker().byte_offset().unwrap_or_default();
        TextFault::new(at.min(self.part.range().end), what)
    }

    /// Takes one event.
    ///
    /// # Errors
    /// When the document has to be given up.
    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), TextFault> {
        let mut end = span.end;
        match event {
            Event::DocumentStart(..) => self.document = OpenDocument::default(),
            Event::DocumentEnd => self.end_document(),
            Event::Scalar(text, style, anchor, tag) => {
                self.count(&span)?;
                self.scalar(text, style, anchor, tag.as_deref(), span);
            }
            Event::SequenceStart(style, anchor, _) => {
                self.count(&span)?;
                let start = self.sequence_start(style, span.start);
                end -= span.start - start;
                self.open(start, anchor, Collection::Sequence(Vec::new()));
            }
            Event::MappingStart(_, anchor, _) => {
                self.count(&span)?;
                self.open(
                    span.start,
                    anchor,
                    Collection::Mapping(MappingMembers::default(), None),
                );
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(id) => {
                self.count(&span)?;
                self.alias(id, span);
            }
            Event::UnresolvedAlias(name) => {
                self.problem(
                    span.start,
                    format!("no anchor `&{name}` stands before this alias"),
                );
                self.complete(Node {
                    value: Value::Null,
                    span: span.into(),
                });
            }
            _ => {}
        }
        self.document.reached = self.document.reached.max(end);
        Ok(())
    }

    fn problem(&mut self, at: usize, what: impl Into<String>) {
        self.loaded.problems.push(TextFault::new(at, what));
    }

    fn count(&mut self, span: &Range<usize>) -> Result<(), TextFault> {
        self.document.written += 1;
        if self.document.written > self.limits.written {
            return Err(TextFault::new(
                span.start,
                format!("more than {} values in one document", self.limits.written),
            ));
        }
        if self.document.open.len() > MAX_DEPTH {
            return Err(TextFault::new(span.start, "nested too deep"));
        }
        Ok(())
    }

    fn end_document(&mut self) {
        let Some(root) = self.document.root.take() else {
            return;
        };
        // The parser gives an empty document a null that stands nowhere.
        if root.value == Value::Null && root.span.is_empty() {
            return;
        }
        self.loaded.documents.push(root);
    }

    fn scalar(
        &mut self,
        mut text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        mut span: Range<usize>,
    ) {
        let is_key = matches!(self.inside(), Some(Collection::Mapping(_, None)));
        if is_key && scalar::is_merge(&text, style, tag) {
            self.set_key(PendingKey::Merge(span));
            return;
        }
        match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                if self.lacks_line_break(&span) {
                    text = text.strip_suffix('\n').unwrap_or(&text).to_owned().into();
                }
                span = self.block_scalar(span);
            }
            ScalarStyle::Plain if span.is_empty() && tag.is_none() && anchor == 0 => {
                span = self.empty_scalar(span);
            }
            _ => {}
        }
        let (value, problem) = scalar::value(text, style, tag);
        if let Some(what) = problem {
            self.problem(span.start, what);
        }
        let node = Node {
            value,
            span: span.into(),
        };
        self.document
            .anchors
            .keep(anchor, &node, self.limits.copied);
        self.complete(node);
    }

    fn inside(&self) -> Option<&Collection> {
        self.document.open.last().map(|open| &open.inside)
    }

    fn alias(&mut self, id: usize, span: Range<usize>) {
        let room = MAX_DEPTH - self.document.open.len();
        let copy = self.document.anchors.copy(id, room, self.limits.copied);
        let value = match copy {
            Ok(value) => value,
            Err(refusal) => {
                if let Some(what) = refusal {
                    self.problem(span.start, what);
                }
                Value::Null
            }
        };
        self.complete(Node {
            value,
            span: span.into(),
        });
    }

    /// Whether a block scalar ends the text in the middle of a line. The parser makes up the
    /// missing line break, go-yaml does not.
    fn lacks_line_break(&self, span: &Range<usize>) -> bool {
        let text = self.part.text();
        if span.end != text.len() {
            return false;
        }
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        !last_line.trim_ascii_start().is_empty()
    }

    /// The parser's span of a block scalar starts at its content and ends before the next token;
    /// ours starts at the indicator and ends with the last line that is not blank.
    fn block_scalar(&self, span: Range<usize>) -> Range<usize> {
        let start = gap::find(self.part.text(), self.document.reached, span.start, *b"|>")
            .unwrap_or(span.start);
        start..start + self.part.text()[start..span.end].trim_ascii_end().len()
    }

    /// The parser puts a value that is not there somewhere before the next token; ours stands right
    /// behind the colon or the `-`.
    fn empty_scalar(&self, span: Range<usize>) -> Range<usize> {
        let text = self.part.text();
        let at = match self.inside() {
            Some(Collection::Mapping(
                _,
                Some(PendingKey::Name(_, key) | PendingKey::Merge(key)),
            )) => gap::behind_colon(text, key.end),
            Some(Collection::Sequence(_)) => {
                gap::find(text, self.document.reached, span.start, *b"--")
                    .map_or(span.start, |dash| dash + 1)
            }
            _ => span.start,
        };
        at..at
    }

    /// The parser lets a sequence that is not indented under its key start at the first item, not
    /// at the `-`.
    fn sequence_start(&self, style: StructureStyle, start: usize) -> usize {
        match self.inside() {
            Some(Collection::Mapping(..)) if style == StructureStyle::Block => {
                gap::find(self.part.text(), self.document.reached, start, *b"--").unwrap_or(start)
            }
            _ => start,
        }
    }

    fn open(&mut self, start: usize, anchor: usize, inside: Collection) {
        self.document.open.push(OpenCollection {
            start,
            end: start,
            anchor,
            inside,
        });
    }

    fn close(&mut self, span: Range<usize>) {
        let Some(OpenCollection {
            start,
            end,
            anchor,
            inside,
        }) = self.document.open.pop()
        else {
            return;
        };
        let value = match inside {
            Collection::Sequence(items) => Value::Array(items.into()),
            Collection::Mapping(members, _) => {
                Value::Object(members.finish(&mut self.lines, &mut self.loaded.problems))
            }
        };
        // Only the end of a flow collection is written; that of a block collection stands at the
        // next token.
        let span = start..if span.is_empty() { end } else { span.end };
        let node = Node {
            value,
            span: span.into(),
        };
        self.document
            .anchors
            .keep(anchor, &node, self.limits.copied);
        self.complete(node);
    }

    /// Puts a whole value where it belongs.
    fn complete(&mut self, node: Node) {
        let Some(open) = self.document.open.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        open.end = node.span.end();
        match &mut open.inside {
            Collection::Sequence(items) => items.push(node),
            Collection::Mapping(members, key) => match key.take() {
                None => self.name(node),
                Some(PendingKey::Name(key, key_span)) => members.push(Member {
                    key,
                    key_span: key_span.into(),
                    value: node,
                }),
                Some(PendingKey::Merge(_)) => {
                    let at = node.span.start();
                    if !members.merge(node) {
                        self.problem(at, "`<<` needs a mapping or a list of mappings");
                    }
                }
            },
        }
    }

    fn set_key(&mut self, new: PendingKey) {
        if let Some(OpenCollection {
            inside: Collection::Mapping(_, key),
            ..
        }) = self.document.open.last_mut()
        {
            *key = Some(new);
        }
    }

    /// Makes a whole value the key of the next one. "YAML non-string keys, e.g. ints, bools and
    /// floats, are converted to strings implicitly during the YAML to JSON conversion process".
    fn name(&mut self, Node { value, span }: Node) {
        if value == Value::Null {
            self.problem(span.start(), "null cannot be a key");
        }
        let name = if let Some(name) = scalar::key(value) {
            Name::from(name)
        } else {
            self.problem(span.start(), "a mapping or a list cannot be a key");
            self.part.text()[span.range()].into()
        };
        self.set_key(PendingKey::Name(name, span.range()));
    }
}
