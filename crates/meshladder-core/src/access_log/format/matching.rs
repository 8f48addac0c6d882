//! A line against a text format: first the quick way, then the careful one.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};
use regex::Regex;

use super::{Slot, TextFormat};
use crate::access_log::field::{Class, Field};
use crate::access_log::record::Record;

impl TextFormat {
    /// Every field ends where what follows it is first met. Gives up as soon as a field is not what it should be.
    pub(in crate::access_log) fn quick<'a>(&'a self, line: &'a str) -> Option<Record<'a>> {
        let mut rest = line.strip_prefix(self.lead.as_str())?;
        let mut record = Record::default();
        let last = self.slots.len() - 1;
        for (i, slot) in self.slots.iter().enumerate() {
            let end = if i == last && slot.then.is_empty() { rest.len() } else { find(rest, &slot.then)? };
            let value = &rest[..end];
            if !slot.class.fits(value.as_bytes()) {
                return None;
            }
            slot.put(value, &mut record);
            rest = &rest[end + slot.then.len()..];
        }
        rest.is_empty().then_some(record)
    }

    /// "Header values are written raw, no escaping": a user agent may hold quotes, and even a tail of its own. Of all
    /// ways to take the line apart this takes the one with the shortest first fields, in linear time.
    pub(in crate::access_log) fn careful<'a>(&'a self, line: &'a str) -> Option<Record<'a>> {
        let strict = self.strict.get_or_init(|| self.regex(false)).as_ref()?;
        let captures = strict.captures(line).or_else(|| {
            let loose = self.loose.get_or_init(|| self.regex(true)).as_ref()?;
            loose.captures(line)
        })?;
        let mut record = Record::default();
        for (slot, value) in self.slots.iter().zip(captures.iter().skip(1)) {
            slot.put(value.map_or("", |value| value.as_str()), &mut record);
        }
        Some(record)
    }

    /// Whether the line starts as this format does, its first two fields included.
    pub(in crate::access_log) fn begins(&self, line: &str) -> bool {
        let Some(mut rest) = line.strip_prefix(self.lead.as_str()) else { return false };
        for slot in self.slots.iter().take(2) {
            let end = if slot.then.is_empty() { None } else { find(rest, &slot.then) };
            let Some(end) = end.filter(|&end| slot.class.fits(&rest.as_bytes()[..end])) else { return false };
            rest = &rest[end + slot.then.len()..];
        }
        self.slots.len() > 1
    }

    /// Whether a line has this field.
    pub(in crate::access_log) fn writes(&self, field: Field) -> bool {
        self.slots.iter().any(|slot| slot.field == Some(field))
    }

    fn regex(&self, loose: bool) -> Option<Regex> {
        let mut pattern = format!("(?s)^{}", regex::escape(&self.lead));
        for slot in &self.slots {
            let class = if loose && slot.field == Some(Field::Route) { Class::Any } else { slot.class };
            pattern.push_str(&format!("({}){}", class.pattern(), regex::escape(&slot.then)));
        }
        pattern.push('$');
        Regex::new(&pattern).ok()
    }
}

impl Slot {
    fn put<'a>(&'a self, value: &'a str, record: &mut Record<'a>) {
        match (self.field, &self.clock) {
            (Some(field), Some(clock)) => record.set(field, clock.read(value)),
            (Some(field), None) => record.set(field, value),
            (None, _) => record.others.push((Cow::Borrowed(&self.operator), Cow::Borrowed(value))),
        }
    }
}

/// Where a literal is first met; none for an empty one.
fn find(text: &str, literal: &str) -> Option<usize> {
    let (bytes, literal) = (text.as_bytes(), literal.as_bytes());
    match literal {
        [] => None,
        [byte] => memchr(*byte, bytes),
        [first, ..] => memchr_iter(*first, bytes).find(|&at| bytes[at..].starts_with(literal)),
    }
}
