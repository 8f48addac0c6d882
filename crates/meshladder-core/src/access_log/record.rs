//! One request as a proxy logged it, in place: its fields are pieces of the line.

use std::borrow::Cow;

use super::field::{COUNT, Field};
use crate::flags;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    values: [Cow<'a, str>; COUNT],
    /// What else a custom format writes: the operator or the key, and its value.
    pub others: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl Default for Record<'_> {
    fn default() -> Self {
        Self { values: [const { Cow::Borrowed("") }; COUNT], others: Vec::new() }
    }
}

impl<'a> Record<'a> {
    /// A field's text; empty for `-` and for what the format does not write.
    pub fn get(&self, field: Field) -> &str {
        &self.values[field as usize]
    }

    /// A field as a number.
    pub fn number(&self, field: Field) -> Option<u64> {
        self.get(field).parse().ok()
    }

    /// Status; 0 when none was sent.
    pub fn code(&self) -> u16 {
        self.get(Field::Code).parse().unwrap_or(0)
    }

    /// The flags one by one.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        self.get(Field::Flags).split(',').filter(|flag| !flag.is_empty())
    }

    /// Whether it is about a connection, not about a request of HTTP.
    pub fn is_connection(&self) -> bool {
        let of_http = [Field::Method, Field::Protocol, Field::Path];
        self.code() == 0 && of_http.iter().all(|field| self.get(*field).is_empty())
    }

    /// Sets a field, `-` as nothing.
    pub(super) fn set(&mut self, field: Field, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        self.values[field as usize] = match field {
            _ if value == "-" => Cow::Borrowed(""),
            Field::Flags if value.len() > 5 => short_names(value),
            // "names may carry a trailing `;`", where the cluster has another name for its statistics.
            Field::Cluster if value.ends_with(';') => Cow::Owned(value.trim_end_matches(';').to_owned()),
            _ => value,
        };
    }

    /// What another record has and this one lacks.
    pub(super) fn take(&mut self, other: Self) {
        for (own, other) in self.values.iter_mut().zip(other.values) {
            if own.is_empty() {
                *own = other;
            }
        }
        self.others.extend(other.others);
    }

    /// The same with texts of its own.
    pub(super) fn into_owned(self) -> Record<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Record {
            values: self.values.map(own),
            others: self.others.into_iter().map(|(name, value)| (own(name), own(value))).collect(),
        }
    }
}

/// `%RESPONSE_FLAGS_LONG%` as `%RESPONSE_FLAGS%` has it.
fn short_names(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.split(',').all(|flag| flag.len() <= 5) {
        return text;
    }
    let short: Vec<&str> = text.split(',').map(|name| flags::named(name).map_or(name, |flag| flag.code)).collect();
    Cow::Owned(short.join(","))
}
