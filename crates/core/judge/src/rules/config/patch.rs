//! Patches of one place in an object.

use crate::finding::{Fix, Op};
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

/// Puts another value where `part` stands.
pub(super) fn replace(object: &Object, part: &Node, value: impl Into<Value>) -> Fix {
    Fix::patch(&object.id, [Op::replace(object.path_of(part), value)])
}

/// Sets a member of `part`, whether it is there or not; `-` adds to a list.
pub(super) fn set(object: &Object, part: &Node, member: &str, value: impl Into<Value>) -> Fix {
    let path = format!("{}/{member}", object.path_of(part));
    Fix::patch(&object.id, [Op::add(path, value)])
}
