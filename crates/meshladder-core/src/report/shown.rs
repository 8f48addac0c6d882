//! What stands at a piece of evidence.

use std::ops::Range;

use crate::doc::json::{Kind, Raw, pointer_to};
use crate::doc::place::Place;
use crate::doc::yaml;
use crate::finding::Spot;
use crate::snapshot::Document;

/// What stands at a piece of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// RFC 6901; none in logs and statistics.
    pub pointer: Option<String>,
    /// Counted from 1.
    pub line: Option<usize>,
    /// The bytes there, cut to a few lines.
    pub excerpt: String,
    /// The file, as the user knows it.
    pub origin: String,
}

const MOST_LINES: usize = 8;
const MOST_BYTES: usize = 400;

impl Shown {
    /// Looks a place up; what is not there shows nothing.
    pub(super) fn look_up(doc: &Document, spot: &Spot) -> Self {
        let shown = match spot {
            Spot::Whole => None,
            Spot::Line(number) => doc.text.lines().nth(number - 1).map(|line| Self {
                line: Some(*number),
                excerpt: cut(line),
                ..Self::default()
            }),
            Spot::Offset(offset) => pointer_to(&doc.text, *offset).map(|pointer| {
                let range =
                    Raw::of(&doc.text).ok().and_then(|root| walk(root, &pointer)).map(|raw| raw.offset()..raw.end());
                Self::at(&doc.text, &range.unwrap_or(*offset..*offset), pointer)
            }),
            Spot::Pointer(pointer) => {
                range(&doc.text, pointer).map(|range| Self::at(&doc.text, &range, pointer.clone()))
            }
        };
        Self { origin: doc.origin.clone(), ..shown.unwrap_or_default() }
    }

    fn at(text: &str, range: &Range<usize>, pointer: String) -> Self {
        let line = Place::of(text, range.start).line;
        Self {
            pointer: Some(pointer),
            line: Some(line),
            excerpt: cut(&whole_lines(text, range)),
            origin: String::new(),
        }
    }
}

/// The bytes of a range; where it spans lines, from the start of its first line, with the common indentation taken off.
fn whole_lines(text: &str, range: &Range<usize>) -> String {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    // A dump without line breaks has no lines to speak of.
    if end - start > 4 * MOST_BYTES + range.len() {
        return text[range.clone()].to_owned();
    }
    let lines: Vec<&str> = text[start..end].lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn cut(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().take(MOST_LINES + 1).collect();
    let more = lines.len() > MOST_LINES;
    lines.truncate(MOST_LINES);
    let mut cut = lines.join("\n");
    if cut.len() > MOST_BYTES {
        let end = (0..=MOST_BYTES).rev().find(|at| cut.is_char_boundary(*at)).unwrap_or(0);
        cut.truncate(end);
        cut.push('…');
    } else if more {
        cut.push_str("\n…");
    }
    cut
}

/// The bytes that an RFC 6901 pointer leads to, in JSON or YAML.
fn range(text: &str, pointer: &str) -> Option<Range<usize>> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) && !text.contains("\n---") {
        return walk(Raw::of(text).ok()?, pointer).map(|raw| raw.offset()..raw.end());
    }
    let documents = yaml::load(text).documents;
    match &documents[..] {
        [only] => only.pointer(pointer),
        several => {
            let (index, rest) =
                pointer.strip_prefix('/')?.split_once('/').map_or((pointer.get(1..)?, ""), |(i, rest)| (i, rest));
            let rest = if rest.is_empty() { String::new() } else { format!("/{rest}") };
            several.get(index.parse::<usize>().ok()?)?.pointer(&rest)
        }
    }
    .map(|node| node.span.clone())
}

fn walk<'a>(root: Raw<'a>, pointer: &str) -> Option<Raw<'a>> {
    pointer.split('/').skip(1).try_fold(root, |raw, token| match raw.kind() {
        Kind::Array => raw.elements().nth(token.parse().ok()?),
        _ => raw.get(&token.replace("~1", "/").replace("~0", "~")),
    })
}
