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
        let known = self.fill(whole(line)?, &mut record)?;
        // `omit_empty_values` leaves keys out, but never the status.
        let tells = if self.writes(LogField::Code) {
            known.code
        } else {
            known.keys * 2 > self.keys.len()
        };
        tells.then_some(record)
    }

    fn fill<'a>(&'a self, raw: Raw<'a>, record: &mut AccessRecord<'a>) -> Option<ObjectFacts> {
        let mut known = ObjectFacts::default();
        let mut expected = 0;
        let mut members = raw.members();
        for (key, value) in members.by_ref() {
            let Some(at) = self.position(&key, expected) else {
                continue;
            };
            expected = at + 1;
            known.keys += 1;
            match &self.keys[at].value {
                JsonValue::Field(LogField::Code, _) => {
                    let text = scalar(value)?;
                    known.code |=
                        text.is_empty() || text == "-" || text.bytes().all(|b| b.is_ascii_digit());
                    record.set(LogField::Code, text);
                }
                JsonValue::Field(field, clock) => {
                    let text = scalar(value)?;
                    match clock {
                        Some(clock) => {
                            record.set(*field, Cow::Owned(clock.read(&text).into_owned()))
                        }
                        None => record.set(*field, text),
                    }
                }
                JsonValue::Other => record
                    .others
                    .push((Cow::Borrowed(&self.keys[at].key), scalar(value)?)),
                JsonValue::Text(format) => {
                    let text = scalar(value)?;
                    let parts = format.quick(&text).or_else(|| format.careful(&text))?;
                    known.code |= !parts.get(LogField::Code).is_empty();
                    record.take(&format.fields(), &parts);
                }
                JsonValue::Object(format) => {
                    let inner = format.fill(value, record)?;
                    known.code |= inner.code;
                }
            }
        }
        members.fault().is_none().then_some(known)
    }

    /// Envoy sorts the keys, so the next one is most often the one expected.
    fn position(&self, key: &str, expected: usize) -> Option<usize> {
        let is = |at: &usize| self.keys.get(*at).is_some_and(|entry| entry.key == key);
        Some(expected).filter(is).or_else(|| {
            self.keys
                .binary_search_by(|entry| entry.key.as_str().cmp(key))
                .ok()
        })
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

/// What was met in an object.
#[derive(Default)]
struct ObjectFacts {
    keys: usize,
    code: bool,
}

/// The object, when the line is nothing else.
fn whole(line: &str) -> Option<Raw<'_>> {
    let is_object = line.starts_with('{') && line.ends_with('}');
    is_object.then(|| Raw::of(line).ok()).flatten()
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
