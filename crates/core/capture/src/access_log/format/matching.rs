//! A line against a text format: first the quick way, then the careful one.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};
use regex::Regex;

use super::{Slot, TextFormat};
use crate::access_log::field::{FieldShape, LogField};
use crate::access_log::record::AccessRecord;

impl TextFormat {
    /// Every field ends where what follows it is first met. Gives up as soon as a field is not what
    /// it should be.
    pub(in crate::access_log) fn quick<'a>(&'a self, line: &'a str) -> Option<AccessRecord<'a>> {
        let bytes = line.as_bytes();
        if !bytes.starts_with(self.lead.as_bytes()) {
            return None;
        }
        let mut record = AccessRecord::of(line);
        let mut start = self.lead.len();
        let last = self.slots.len() - 1;
        for (i, slot) in self.slots.iter().enumerate() {
            let then = slot.then.as_bytes();
            let end = if i == last && then.is_empty() {
                bytes.len()
            } else {
                start + find(&bytes[start..], then)?
            };
            // What ends at a blank has none.
            let is_word = slot.class == FieldShape::Word && then.first() == Some(&b' ');
            if !is_word && !slot.class.fits(&bytes[start..end]) {
                return None;
            }
            slot.put(line, start, end, &mut record);
            start = end + then.len();
        }
        (start == bytes.len()).then_some(record)
    }

    /// "Header values are written raw, no escaping": a user agent may hold quotes, and even a tail
    /// of its own. Of all ways to take the line apart this takes the one with the shortest first
    /// fields, in linear time.
    pub(in crate::access_log) fn careful<'a>(&'a self, line: &'a str) -> Option<AccessRecord<'a>> {
        let strict = self.strict.get_or_init(|| self.regex(false)).as_ref()?;
        let captures = if let Some(captures) = strict.captures(line) {
            captures
        } else {
            let loose = self.loose.get_or_init(|| self.regex(true)).as_ref()?;
            loose.captures(line)?
        };
        let mut record = AccessRecord::of(line);
        for (slot, value) in self.slots.iter().zip(captures.iter().skip(1)) {
            let (start, end) = value.map_or((0, 0), |value| (value.start(), value.end()));
            slot.put(line, start, end, &mut record);
        }
        Some(record)
    }

    /// Whether the line starts as this format does, its first two fields included.
    pub(in crate::access_log) fn begins(&self, line: &str) -> bool {
        let Some(mut rest) = line.strip_prefix(self.lead.as_str()) else {
            return false;
        };
        for slot in self.slots.iter().take(2) {
            let Some(end) = find(rest.as_bytes(), slot.then.as_bytes()) else {
                return false;
            };
            if !slot.class.fits(&rest.as_bytes()[..end]) {
                return false;
            }
            rest = &rest[end + slot.then.len()..];
        }
        self.slots.len() > 1
    }

    /// The fields of a line.
    pub(in crate::access_log) fn fields(&self) -> Vec<LogField> {
        self.slots.iter().filter_map(|slot| slot.field).collect()
    }

    fn regex(&self, loose: bool) -> Option<Regex> {
        let mut pattern = format!("(?s)^{}", regex::escape(&self.lead));
        for slot in &self.slots {
            let class = if loose && slot.field == Some(LogField::Route) {
                FieldShape::Any
            } else {
                slot.class
            };
            for part in ["(", class.pattern(), ")", &regex::escape(&slot.then)] {
                pattern.push_str(part);
            }
        }
        pattern.push('$');
        Regex::new(&pattern).ok()
    }
}

impl Slot {
    #[inline]
    fn put<'a>(&'a self, line: &'a str, start: usize, end: usize, record: &mut AccessRecord<'a>) {
        match (self.field, &self.clock) {
            (Some(field), None) => record.set_span(field, start, end),
            (Some(field), Some(clock)) => record.set(field, clock.read(&line[start..end])),
            (None, _) => record.others.push((
                Cow::Borrowed(&self.operator),
                Cow::Borrowed(&line[start..end]),
            )),
        }
    }
}

/// Where a literal is first met; none for an empty one.
#[inline]
fn find(bytes: &[u8], literal: &[u8]) -> Option<usize> {
    match literal {
        [] => None,
        [byte] => memchr(*byte, bytes),
        [first, more @ ..] => memchr_iter(*first, bytes).find(|at| {
            let behind = &bytes[at + 1..];
            behind.len() >= more.len() && more.iter().zip(behind).all(|(a, b)| a == b)
        }),
    }
}
