//! What stands at a piece of evidence.

use std::ops::Range;

use super::lookup::{Lookup, walk};
use crate::finding::Spot;
use meshladder_text::json::{Raw, pointer_to};
use meshladder_text::place::Place;

/// What stands at a piece of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Citation {
    /// RFC 6901; none in logs and statistics.
    pub pointer: Option<String>,
    /// Counted from 1.
    pub line: Option<usize>,
    /// The bytes there, cut to a few lines.
    pub excerpt: String,
    /// The file, as the user knows it.
    pub origin: String,
    /// Where it starts and ends; the end is not part of it.
    pub region: Option<(Place, Place)>,
    /// The first of its lines, as they stand in the file.
    pub source: Vec<String>,
}

const MOST_LINES: usize = 8;
const MOST_BYTES: usize = 400;
/// How far around a place its lines are looked for, as there may be many places in a text without
/// lines.
const MOST_READ: usize = 16 << 10;
/// A longer line is no line of a file that somebody reads.
const LONGEST_LINE: usize = 400;

impl Citation {
    /// Looks a place up; what is not there shows nothing.
    pub(super) fn look_up(lookup: &Lookup<'_>, spot: &Spot) -> Self {
        let text = &lookup.doc.text;
        let shown = match spot {
            Spot::Whole => None,
            Spot::Line(number) => lookup.line(*number).map(|line| Self {
                line: Some(*number),
                excerpt: cut(line),
                ..Self::default()
            }),
            Spot::Offset(offset) => pointer_to(text, *offset).map(|pointer| {
                let range = Raw::of(text)
                    .ok()
                    .and_then(|root| walk(root, &pointer))
                    .map(|raw| raw.offset()..raw.end());
                Self::at(lookup, &range.unwrap_or(*offset..*offset), pointer)
            }),
            Spot::Key(pointer) => lookup
                .key_range(pointer)
                .map(|range| Self::at(lookup, &range, pointer.clone())),
            Spot::Pointer(pointer) => lookup
                .range(pointer)
                .map(|range| Self::at(lookup, &range, pointer.clone())),
        };
        Self {
            origin: lookup.doc.origin.clone(),
            ..shown.unwrap_or_default()
        }
    }

    fn at(lookup: &Lookup<'_>, range: &Range<usize>, pointer: String) -> Self {
        let (start, end) = (lookup.place(range.start), lookup.place(range.end));
        let lines = (start.line..=end.line)
            .take(MOST_LINES)
            .filter_map(|line| lookup.line(line));
        let source: Vec<&str> = lines.collect();
        let is_readable = source.iter().all(|line| line.len() <= LONGEST_LINE);
        Self {
            pointer: Some(pointer),
            line: Some(start.line),
            excerpt: cut(&whole_lines(&lookup.doc.text, range)),
            origin: String::new(),
            region: Some((start, end)),
            source: if is_readable {
                source.into_iter().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
        }
    }
}

/// The bytes of a range; where it spans lines, from the start of its first line, with the common
/// indentation taken off.
fn whole_lines(text: &str, range: &Range<usize>) -> String {
    let bytes = text.as_bytes();
    let from = range.start.saturating_sub(MOST_READ);
    let start = memchr::memrchr(b'\n', &bytes[from..range.start]).map_or(from, |at| from + at + 1);
    let stop = range.end.min(range.start + MOST_READ);
    let to = text.len().min(stop + MOST_READ);
    let end = memchr::memchr(b'\n', &bytes[stop..to]).map_or(to, |at| stop + at);
    // A dump without line breaks has no lines to speak of.
    if end - start > 4 * MOST_BYTES + (stop - range.start) {
        let stop = (range.start..=stop)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(range.start);
        return text[range.start..stop].to_owned();
    }
    let lines: Vec<&str> = text[start..end]
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let indent = lines
        .iter()
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    lines
        .iter()
        .map(|line| line.get(indent..).unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

fn cut(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().take(MOST_LINES + 1).collect();
    let more = lines.len() > MOST_LINES;
    lines.truncate(MOST_LINES);
    let mut cut = lines.join("\n");
    if cut.len() > MOST_BYTES {
        let end = (0..=MOST_BYTES)
            .rev()
            .find(|at| cut.is_char_boundary(*at))
            .unwrap_or(0);
        cut.truncate(end);
        cut.push('…');
    } else if more {
        cut.push_str("\n…");
    }
    cut
}
