//! Plain scalars that were read before: the same few stand in every object, and each is kept once.

use std::sync::Arc;

use crate::name::{Names, fnv_1a};
use crate::tree::Value;

/// What plain scalars mean, by their text. A text has one place here and takes it from the one
/// before, so that no input makes this large or slow.
#[derive(Debug, Default)]
pub struct Scalars {
    values: Vec<Option<(Arc<str>, Value)>>,
    /// Those that are names of members.
    pub(super) names: Names,
}

const PLACES: usize = 4096;
/// A longer text is hardly there twice.
const LONGEST: usize = 64;

impl Scalars {
    pub(super) fn find(&self, text: &str) -> Option<Value> {
        let (known, value) = self.values.get(place(text))?.as_ref()?;
        (**known == *text).then(|| value.clone())
    }

    pub(super) fn keep(&mut self, text: &str, value: &Value) {
        if text.len() > LONGEST {
            return;
        }
        if self.values.is_empty() {
            self.values.resize(PLACES, None);
        }
        // A string's text is kept once, as the value and as what it is found by.
        let known = if let Value::String(text) = value {
            Arc::clone(text)
        } else {
            text.into()
        };
        self.values[place(text)] = Some((known, value.clone()));
    }
}

/// Twelve of the upper bits of the hash: 4096 places.
fn place(text: &str) -> usize {
    usize::try_from(fnv_1a(text) >> 52).unwrap_or_default()
}
