//! Plain scalars that were read before: the same few stand in every object, and each is kept once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::doc::tree::Value;

/// What plain scalars mean, by their text.
#[derive(Debug, Default)]
pub struct Names(HashMap<Arc<str>, Value>);

/// A longer text is hardly there twice.
const LONGEST: usize = 64;
/// So many texts that are not alike are no names.
const MOST: usize = 100_000;

impl Names {
    pub(super) fn find(&self, text: &str) -> Option<Value> {
        self.0.get(text).cloned()
    }

    pub(super) fn keep(&mut self, text: &str, value: &Value) {
        if text.len() > LONGEST {
            return;
        }
        if self.0.len() == MOST {
            self.0.clear();
        }
        let key = if let Value::String(text) = value { Arc::clone(text) } else { text.into() };
        self.0.insert(key, value.clone());
    }
}
