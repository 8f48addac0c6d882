//! Duplicate keys and merge keys.

use std::collections::HashMap;
use std::ops::Range;

use super::split::StreamPart;
use crate::json::TextFault;
use crate::tree::{Member, Node, Span, Value, edit};

/// The members of a mapping while it is read.
#[derive(Debug, Default)]
pub(super) struct MappingMembers {
    all: Vec<Member>,
    /// Which of them a merge key brought.
    merged: Vec<Range<usize>>,
}

impl MappingMembers {
    /// Members of which none was merged.
    pub(super) fn of(all: Vec<Member>) -> Self {
        Self {
            all,
            merged: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, member: Member) {
        self.all.push(member);
    }

    /// Takes over the members of the value of a `<<`; false when the value is neither a mapping nor
    /// a list of them.
    pub(super) fn merge(&mut self, value: Node) -> bool {
        let start = self.all.len();
        let sources = match value.value {
            Value::Object(_) => [value].into(),
            Value::Array(items) => items,
            _ => return false,
        };
        let mut fits = true;
        // "Keys in mapping nodes earlier in the sequence override keys specified in later mapping
        // nodes", and here the last one counts.
        for source in sources.into_iter().rev() {
            match source.value {
                Value::Object(members) => self.all.extend(members),
                _ => fits = false,
            }
        }
        self.merged.push(start..self.all.len());
        fits
    }

    /// The members, each name once. As in go-yaml v2 the last one counts, even where it comes from
    /// a merge key that stands behind the key it replaces; only keys written twice are a problem.
    pub(super) fn finish(
        mut self,
        lines: &mut LineNumbers<'_>,
        problems: &mut Vec<TextFault>,
    ) -> Box<[Member]> {
        let Self { all, merged } = &mut self;
        last_wins(all, merged, lines, problems);
        self.all.into()
    }
}

/// Makes a tree that was read from a slice of the text as good as one read from the text: moves its
/// places by `base` and sees to its duplicate keys.
pub(super) fn settle(
    node: &mut Node,
    base: usize,
    lines: &mut LineNumbers<'_>,
    problems: &mut Vec<TextFault>,
) {
    shift(&mut node.span, base);
    match &mut node.value {
        Value::Array(items) => {
            for item in items {
                settle(item, base, lines, problems);
            }
        }
        Value::Object(members) => {
            for member in &mut *members {
                shift(&mut member.key_span, base);
                settle(&mut member.value, base, lines, problems);
            }
            edit(members, |members| last_wins(members, &[], lines, problems));
        }
        _ => {}
    }
}

fn shift(span: &mut Span, by: usize) {
    *span = (span.start() + by..span.end() + by).into();
}

fn last_wins(
    members: &mut Vec<Member>,
    merged: &[Range<usize>],
    lines: &mut LineNumbers<'_>,
    problems: &mut Vec<TextFault>,
) {
    if !any_repeated(members) {
        return;
    }
    let mut keep = vec![true; members.len()];
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut written: HashMap<&str, usize> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        if let Some(before) = last.insert(&member.key, index) {
            keep[before] = false;
        }
        // To be overridden is what merged members are for.
        if is_merged(merged, index) {
            continue;
        }
        let first = *written.entry(&member.key).or_insert(index);
        if first != index {
            let line = lines.of(members[first].key_span.start());
            let what = format!("duplicate key `{}`, first on line {line}", member.key);
            problems.push(TextFault::new(member.key_span.start(), what));
        }
    }
    let mut keep = keep.into_iter();
    members.retain(|_| keep.next().unwrap_or(true));
}

fn is_merged(merged: &[Range<usize>], index: usize) -> bool {
    let at = merged.partition_point(|range| range.end <= index);
    merged.get(at).is_some_and(|range| range.contains(&index))
}

fn any_repeated(members: &[Member]) -> bool {
    /// Below this many members comparing each with each is quicker than sorting.
    const FEW: usize = 16;
    if members.len() <= FEW {
        for (i, member) in members.iter().enumerate() {
            if members[..i].iter().any(|before| before.key == member.key) {
                return true;
            }
        }
        return false;
    }
    let mut keys: Vec<&str> = members.iter().map(|m| &*m.key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// Line numbers for messages; counted once, and only when one is wanted.
#[derive(Debug)]
pub(super) struct LineNumbers<'a> {
    part: &'a StreamPart<'a>,
    breaks: Option<Vec<usize>>,
}

impl<'a> LineNumbers<'a> {
    pub(super) fn new(part: &'a StreamPart<'a>) -> Self {
        Self { part, breaks: None }
    }

    fn of(&mut self, at: usize) -> usize {
        let text = self.part.as_str().as_bytes();
        let breaks = self
            .breaks
            .get_or_insert_with(|| memchr::memchr_iter(b'\n', text).collect());
        let at = at.saturating_sub(self.part.range().start);
        self.part.line() + breaks.partition_point(|newline| *newline < at)
    }
}
