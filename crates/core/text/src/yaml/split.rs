//! Where one document ends and the next begins, found without parsing.
//!
//! A line that starts with `---` or `...` ends whatever stands before it, be it a block scalar or
//! an open bracket (YAML 1.2, 9.1.2: "these markers … must not appear as the first three characters
//! of a line" inside a document). So a text can be cut there first, and a broken document cannot
//! hide the ones behind it.

use std::ops::Range;

use crate::json;

/// A stretch of a text that holds one document, with the directives in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPart<'a> {
    text: &'a str,
    range: Range<usize>,
    line: usize,
}

impl<'a> StreamPart<'a> {
    /// Its bytes in the text.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The line it starts on, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What stands there.
    pub fn as_str(&self) -> &'a str {
        &self.text[self.range.clone()]
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }
}

/// Cuts a text into its documents. Each part can be loaded on its own, so on several threads at
/// once; stretches with nothing but comments are left out.
pub fn split(text: &str) -> Vec<StreamPart<'_>> {
    let bom = json::behind_bom(text);
    let mut parts = Vec::new();
    let (mut start, mut line, mut seen) = (bom, 1, PartContent::Nothing);
    let (mut at, mut at_line) = (bom, 1);
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..])
            .map_or(text.len(), |newline| at + newline + 1);
        let here = &text.as_bytes()[at..end];
        if is_marker(here, *b"---") {
            // A part that has only directives so far goes on: they are the next document's.
            if seen == PartContent::Content {
                parts.push(StreamPart {
                    text,
                    range: start..at,
                    line,
                });
            }
            if seen != PartContent::Directive {
                (start, line) = (at, at_line);
            }
            seen = PartContent::Content;
        } else if is_marker(here, *b"...") {
            if seen != PartContent::Nothing {
                parts.push(StreamPart {
                    text,
                    range: start..end,
                    line,
                });
            }
            (start, line, seen) = (end, at_line + 1, PartContent::Nothing);
        } else if seen != PartContent::Content {
            seen = seen.max(PartContent::on(here));
        }
        (at, at_line) = (end, at_line + 1);
    }
    if seen != PartContent::Nothing {
        parts.push(StreamPart {
            text,
            range: start..text.len(),
            line,
        });
    }
    parts
}

/// What follows the `---` that a part starts with; all of it when it starts with something else.
pub(super) fn behind_marker(part: &str) -> &str {
    if is_marker(part.as_bytes(), *b"---") {
        &part[3..]
    } else {
        part
    }
}

/// What the open part holds so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartContent {
    /// Blank lines and comments.
    Nothing,
    /// `%YAML` and the like, which belong to the document behind the next `---`.
    Directive,
    Content,
}

impl PartContent {
    fn on(line: &[u8]) -> Self {
        match line.iter().find(|b| !b.is_ascii_whitespace()) {
            None | Some(b'#') => Self::Nothing,
            Some(b'%') if line[0] == b'%' => Self::Directive,
            Some(_) => Self::Content,
        }
    }
}

fn is_marker(line: &[u8], marker: [u8; 3]) -> bool {
    line.strip_prefix(&marker)
        .is_some_and(|rest| matches!(rest, [] | [b' ' | b'\t' | b'\r' | b'\n', ..]))
}
