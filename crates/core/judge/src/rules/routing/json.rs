//! Parts of objects as JSON text: for patches, and to compare what two objects say wherever it
//! stands.

use meshladder_text::json::escape;
use meshladder_text::tree::{Node, Value};

/// Compact JSON.
pub(super) fn text(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => escape(string),
        Value::Array(items) => list(items.iter().map(text)),
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|m| format!("{}:{}", escape(&m.key), text(&m.value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// A list of values that are JSON already.
pub(super) fn list(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<_> = values.into_iter().collect();
    format!("[{}]", values.join(","))
}
