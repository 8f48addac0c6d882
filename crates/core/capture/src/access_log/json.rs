//! A line that is a JSON object.

use std::borrow::Cow;

use super::field::LogField;
use super::format::{JsonFormat, JsonKey, JsonValue};
use super::record::AccessRecord;
use meshladder_text::json::{Raw, ValueKind};

impl JsonFormat {
    /// Reads a line; none when it is no object, or does not say how the request ended.
    pub(super) fn read<'a>(&'a self, line: &'a str) -> Option<AccessRecord<'a>> {
        let mut record = AccessRecord::of(line);
        let facts = self.fill(whole(line)?, &mut record)?;
        // `omit_empty_values` leaves keys out, but never the status. A format without one is told
        // by having most of its keys.
        let is_ours = if self.writes(LogField::Code) {
            facts.code
        } else {
            facts.keys * 2 > self.keys.len()
        };
        is_ours.then_some(record)
    }

    fn fill<'a>(&'a self, raw: Raw<'a>, record: &mut AccessRecord<'a>) -> Option<ObjectFacts> {
        let mut facts = ObjectFacts::default();
        let mut expected = 0;
        let mut members = raw.members();
        for (key, value) in members.by_ref() {
            let Some(at) = self.position(&key, expected) else {
                continue;
            };
            expected = at + 1;
            facts.keys += 1;
            facts.code |= self.keys[at].fill(value, record)?;
        }
        members.fault().is_none().then_some(facts)
    }

    /// Envoy sorts the keys, so the next one is most often the one expected.
    fn position(&self, key: &str, expected: usize) -> Option<usize> {
        if self.keys.get(expected).is_some_and(|own| own.key == key) {
            return Some(expected);
        }
        self.keys
            .binary_search_by(|own| own.key.as_str().cmp(key))
            .ok()
    }

    fn writes(&self, field: LogField) -> bool {
        self.keys.iter().any(|JsonKey { value, .. }| match value {
            JsonValue::Field(own, _) => *own == field,
            JsonValue::Text(format) => format.fields().contains(&field),
            JsonValue::Object(format) => format.writes(field),
            JsonValue::Other => false,
        })
    }
}

impl JsonKey {
    /// Puts a member's value into the record and tells whether it holds a status. None when the
    /// value is not of this format.
    fn fill<'a>(&'a self, value: Raw<'a>, record: &mut AccessRecord<'a>) -> Option<bool> {
        match &self.value {
            JsonValue::Field(LogField::Code, _) => {
                let text = scalar(value)?;
                let is_code = text == "-" || text.bytes().all(|b| b.is_ascii_digit());
                record.set(LogField::Code, text);
                return Some(is_code);
            }
            JsonValue::Field(field, None) => record.set(*field, scalar(value)?),
            JsonValue::Field(field, Some(clock)) => {
                let time = clock.read(&scalar(value)?).into_owned();
                record.set(*field, Cow::Owned(time));
            }
            JsonValue::Other => {
                let other = (Cow::Borrowed(self.key.as_str()), scalar(value)?);
                record.others.push(other);
            }
            JsonValue::Text(format) => {
                let text = scalar(value)?;
                let parts = format.quick(&text).or_else(|| format.careful(&text))?;
                record.take(&format.fields(), &parts);
                return Some(!parts.get(LogField::Code).is_empty());
            }
            JsonValue::Object(format) => return Some(format.fill(value, record)?.code),
        }
        Some(false)
    }
}

/// What tells whether an object is of the format.
#[derive(Default)]
struct ObjectFacts {
    /// How many of the format's keys it has.
    keys: usize,
    /// Whether it has a status.
    code: bool,
}

/// The object, when the line is nothing else.
fn whole(line: &str) -> Option<Raw<'_>> {
    if !line.starts_with('{') || !line.ends_with('}') {
        return None;
    }
    Raw::of(line).ok()
}

/// "missing = `null`", and in old releases `"-"`.
fn scalar(value: Raw<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        ValueKind::String => value.string(),
        ValueKind::Scalar if value.text() == "null" => Some(Cow::Borrowed("")),
        ValueKind::Scalar | ValueKind::Object | ValueKind::Array => {
            Some(Cow::Borrowed(value.text()))
        }
    }
}
