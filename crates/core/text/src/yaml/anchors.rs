//! Anchors and the aliases that repeat them.

use crate::tree::{Node, Value};

/// What the anchors of a document stand for.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    /// By the parser's number for the anchor. A value is put in once it is whole.
    values: Vec<Option<AnchorValue>>,
    /// How much has been copied, here and for aliases. Both count, or anchors inside anchors would
    /// multiply the document.
    copied: usize,
    /// Whether an alias has been refused for the limit; that is said once.
    refused: bool,
}

#[derive(Clone, Debug)]
struct AnchorValue {
    /// None when it was too large to keep.
    value: Option<Value>,
    size: usize,
    depth: usize,
}

impl Anchors {
    /// Keeps what an anchor stands for; 0 is no anchor.
    pub(super) fn keep(&mut self, anchor: usize, node: &Node, limit: usize) {
        if anchor == 0 {
            return;
        }
        let left = limit - self.copied;
        let mut size = 0;
        let depth = measure(node, &mut size, left);
        self.copied += size.min(left);
        if self.values.len() <= anchor {
            self.values.resize(anchor + 1, None);
        }
        let value = (size <= left).then(|| node.value.clone());
        self.values[anchor] = Some(AnchorValue { value, size, depth });
    }

    /// A copy of what an anchor stands for, to be put where `room` more levels may follow.
    ///
    /// # Errors
    /// When there can be none, with the reason unless it has been given before.
    pub(super) fn copy(
        &mut self,
        anchor: usize,
        room: usize,
        limit: usize,
    ) -> Result<Value, Option<String>> {
        // An anchor is kept when its value is whole, so a missing one is still being read.
        let Some(Some(anchored)) = self.values.get(anchor) else {
            return Err(Some(
                "the alias stands inside the value of its own anchor".to_owned(),
            ));
        };
        if anchored.depth > room {
            return Err(Some("nested too deep".to_owned()));
        }
        if let Some(value) = &anchored.value
            && anchored.size <= limit - self.copied
        {
            self.copied += anchored.size;
            return Ok(value.clone());
        }
        if self.refused {
            return Err(None);
        }
        self.refused = true;
        Err(Some(format!("aliases repeat more than {limit} values")))
    }
}

/// How many levels are below a value, adding what it holds to `size`; stops once that is above
/// `most`.
fn measure(node: &Node, size: &mut usize, most: usize) -> usize {
    /// A text of this many bytes takes about as much memory as a value.
    const TEXT: usize = 64;
    *size += 1;
    if *size > most {
        return 0;
    }
    match &node.value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(text) | Value::String(text) => {
            *size += text.len() / TEXT;
            0
        }
        Value::Array(items) => {
            let mut deepest = 0;
            for item in items {
                deepest = deepest.max(1 + measure(item, size, most));
            }
            deepest
        }
        Value::Object(members) => {
            for member in members {
                *size += member.key.len() / TEXT;
            }
            let mut deepest = 0;
            for member in members {
                deepest = deepest.max(1 + measure(&member.value, size, most));
            }
            deepest
        }
    }
}
