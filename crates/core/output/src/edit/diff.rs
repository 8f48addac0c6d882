//! Changes of a file as a unified diff, which `patch` and `git apply` take.

use std::fmt::Write;

use super::splice::{Splice, apply};

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

/// The splices of a file as a unified diff; nothing when there are none.
pub fn unified(path: &str, text: &str, splices: &[Splice]) -> String {
    let mut out = String::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let changes = changes(text, &lines, splices);
    if changes.is_empty() {
        return out;
    }
    // A String takes all text.
    let _ = writeln!(out, "--- a/{0}\n+++ b/{0}", path.trim_start_matches('/'));
    let mut shift: isize = 0;
    let near = |a: &Change, b: &Change| b.start <= a.end + 2 * CONTEXT;
    for hunk in changes.chunk_by(near) {
        shift += draw(&mut out, &lines, hunk, shift);
    }
    out
}

/// Lines of the text, and those that stand there instead.
struct Change {
    start: usize,
    end: usize,
    new: Vec<String>,
}

fn changes(text: &str, lines: &[&str], splices: &[Splice]) -> Vec<Change> {
    let mut starts = vec![0];
    starts.extend(lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    let line_of = |at: usize| {
        starts
            .partition_point(|start| *start <= at)
            .saturating_sub(1)
            .min(lines.len().saturating_sub(1))
    };
    let mut changes: Vec<(usize, usize, Vec<Splice>)> = Vec::new();
    for splice in splices {
        let (first, last) = (line_of(splice.range.start), line_of(splice.range.end));
        match changes.last_mut() {
            Some((_, end, all)) if first < *end => {
                *end = (*end).max(last + 1);
                all.push(splice.clone());
            }
            _ => changes.push((first, last + 1, vec![splice.clone()])),
        }
    }
    let moved = |splice: Splice, by: usize| Splice {
        range: splice.range.start - by..splice.range.end - by,
        ..splice
    };
    let made = changes.into_iter().map(|(start, end, splices)| {
        let from = starts[start];
        let part = &text[from..starts[end.min(lines.len())]];
        let splices: Vec<Splice> = splices
            .into_iter()
            .map(|splice| moved(splice, from))
            .collect();
        let new: Vec<String> = apply(part, &splices)
            .split_inclusive('\n')
            .map(str::to_owned)
            .collect();
        trimmed(lines, start, end.min(lines.len()), new)
    });
    made.collect()
}

/// Without the lines at either end that stay.
fn trimmed(lines: &[&str], mut start: usize, mut end: usize, mut new: Vec<String>) -> Change {
    while start < end && new.first().is_some_and(|line| line == lines[start]) {
        start += 1;
        new.remove(0);
    }
    while start < end && new.last().is_some_and(|line| line == lines[end - 1]) {
        end -= 1;
        new.pop();
    }
    Change { start, end, new }
}

/// Draws one hunk and gives by how much it moves what follows.
fn draw(out: &mut String, lines: &[&str], hunk: &[Change], shift: isize) -> isize {
    let (first, last) = (&hunk[0], &hunk[hunk.len() - 1]);
    let (from, to) = (
        first.start.saturating_sub(CONTEXT),
        (last.end + CONTEXT).min(lines.len()),
    );
    let removed: usize = hunk.iter().map(|change| change.end - change.start).sum();
    let added: usize = hunk.iter().map(|change| change.new.len()).sum();
    let (old, new) = (to - from, to - from - removed + added);
    // "If the length is zero, the line number is one less."
    let start = |length: usize, at: usize| at + usize::from(length > 0);
    let new_start = start(new, from.saturating_add_signed(shift));
    // A String takes all text.
    let _ = writeln!(out, "@@ -{},{old} +{new_start},{new} @@", start(old, from));
    let mut at = from;
    for change in hunk {
        lines[at..change.start]
            .iter()
            .for_each(|text| line(out, ' ', text));
        lines[change.start..change.end]
            .iter()
            .for_each(|text| line(out, '-', text));
        change.new.iter().for_each(|text| line(out, '+', text));
        at = change.end;
    }
    lines[at..to].iter().for_each(|text| line(out, ' ', text));
    isize::try_from(added).unwrap_or_default() - isize::try_from(removed).unwrap_or_default()
}

fn line(out: &mut String, mark: char, text: &str) {
    out.push(mark);
    out.push_str(text);
    if !text.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}
