//! One request as a proxy logged it, in place: its fields are pieces of the line.

use std::borrow::Cow;

use super::field::{COUNT, LogField};
use crate::flags;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct AccessRecord<'a> {
    line: &'a str,
    /// Texts that do not stand in the line as they are.
    own: String,
    values: [TextSpan; COUNT],
    /// What else a custom format writes: the operator or the key, and its value.
    pub others: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// Where a text stands: in the line, or from `OWN` on among the record's own.
#[derive(Clone, Copy, Debug, Default)]
struct TextSpan {
    start: u32,
    end: u32,
}

const OWN: u32 = 1 << 31;

impl<'a> AccessRecord<'a> {
    /// A record of a line, without any field yet.
    pub(super) fn of(line: &'a str) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    /// A field's text; empty for `-` and for what the format does not write.
    #[inline]
    pub fn get(&self, field: LogField) -> &str {
        let TextSpan { start, end } = self.values[field as usize];
        let (text, start, end) = if start >= OWN {
            (self.own.as_str(), start - OWN, end - OWN)
        } else {
            (self.line, start, end)
        };
        &text[start as usize..end as usize]
    }

    /// A field as a number.
    pub fn number(&self, field: LogField) -> Option<u64> {
        self.get(field).parse().ok()
    }

    /// Status; 0 when none was sent.
    pub fn code(&self) -> u16 {
        self.get(LogField::Code).parse().unwrap_or(0)
    }

    /// The flags one by one.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        self.get(LogField::Flags)
            .split(',')
            .filter(|flag| !flag.is_empty())
    }

    /// Whether it is about a connection, not about a request of HTTP.
    pub fn is_connection(&self) -> bool {
        let of_http = [LogField::Method, LogField::Protocol, LogField::Path];
        of_http.iter().all(|field| self.get(*field).is_empty()) && self.code() == 0
    }

    /// Sets a field to a piece of the line, `-` as nothing.
    #[inline]
    pub(super) fn set_span(&mut self, field: LogField, start: usize, end: usize) {
        let value = &self.line.as_bytes()[start..end];
        if value == b"-" {
            return;
        }
        let end = match field {
            LogField::Flags if value.len() > 5 => {
                return self.set(field, Cow::Borrowed(&self.line[start..end]));
            }
            // "names may carry a trailing `;`", where the cluster has another name for its
            // statistics.
            LogField::Cluster if value.ends_with(b";") => end - 1,
            _ => end,
        };
        self.values[field as usize] = TextSpan::of(start, end);
    }

    /// Sets a field to any text, `-` as nothing.
    pub(super) fn set(&mut self, field: LogField, value: Cow<'a, str>) {
        let value = match field {
            _ if value == "-" => return,
            LogField::Flags if value.len() > 5 => short_names(value),
            LogField::Cluster => Cow::Owned(value.trim_end_matches(';').to_owned()),
            _ => value,
        };
        let start = OWN as usize + self.own.len();
        self.own.push_str(&value);
        self.values[field as usize] = TextSpan::of(start, start + value.len());
    }

    /// What another record has and this one lacks.
    pub(super) fn take(&mut self, fields: &[LogField], other: &AccessRecord<'_>) {
        for &field in fields {
            let text = other.get(field);
            if !text.is_empty() {
                self.set(field, Cow::Owned(text.to_owned()));
            }
        }
        for (name, value) in &other.others {
            let name = Cow::Owned(name.clone().into_owned());
            let value = Cow::Owned(value.clone().into_owned());
            self.others.push((name, value));
        }
    }

    /// A record that no longer needs the line: its text becomes the first of the record's own.
    pub(super) fn into_owned(self) -> AccessRecord<'static> {
        let shift = u32::try_from(self.line.len()).unwrap_or(0);
        let mut values = self.values;
        for span in &mut values {
            let by = if span.start >= OWN { shift } else { OWN };
            span.start += by;
            span.end += by;
        }
        let mut others = Vec::with_capacity(self.others.len());
        for (name, value) in self.others {
            let name = Cow::Owned(name.into_owned());
            let value = Cow::Owned(value.into_owned());
            others.push((name, value));
        }
        AccessRecord {
            line: "",
            own: self.line.to_owned() + &self.own,
            values,
            others,
        }
    }
}

impl TextSpan {
    /// A line is far from four gigabytes long; what is past them would be read as nothing.
    fn of(start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::default(),
        }
    }
}

impl PartialEq for AccessRecord<'_> {
    fn eq(&self, other: &Self) -> bool {
        LogField::ALL
            .iter()
            .all(|field| self.get(*field) == other.get(*field))
            && self.others == other.others
    }
}

impl Eq for AccessRecord<'_> {}

/// `%RESPONSE_FLAGS_LONG%` as `%RESPONSE_FLAGS%` has it.
fn short_names(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.split(',').all(|flag| flag.len() <= 5) {
        return text;
    }
    let mut short = Vec::new();
    for name in text.split(',') {
        // What is no flag of Envoy's own stays as it is.
        short.push(flags::named(name).map_or(name, |flag| flag.code));
    }
    Cow::Owned(short.join(","))
}
