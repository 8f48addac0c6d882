//! Patches of one place in an object.

use crate::finding::Fix;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

/// Puts another value (JSON text) where `part` stands.
pub(super) fn replace(object: &Object, part: &Node, value: &str) -> Fix {
    operation(object, "replace", &object.path_of(part), value)
}

/// Sets a member of `part` to a value (JSON text), whether it is there or not; `-` adds to a list.
pub(super) fn set(object: &Object, part: &Node, member: &str, value: &str) -> Fix {
    operation(
        object,
        "add",
        &format!("{}/{member}", object.path_of(part)),
        value,
    )
}

fn operation(object: &Object, op: &str, path: &str, value: &str) -> Fix {
    Fix::json_patch(
        &object.id,
        format!(r#"[{{"op":"{op}","path":"{path}","value":{value}}}]"#),
    )
}
