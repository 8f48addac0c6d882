//! Reading the fields of a message, for looks at several together.

use super::fault::{Flaw, shown};
use super::walk::SchemaWalk;
use meshladder_text::tree::{Node, Value};

/// The field, when it says anything.
pub(super) fn set<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.get(name).filter(|value| value.value != Value::Null)
}

pub(super) fn has(node: &Node, name: &str) -> bool {
    set(node, name).is_some()
}

/// The text of a field; nothing when there is none.
pub(super) fn text<'n>(node: &'n Node, name: &str) -> &'n str {
    node.str_at(name).unwrap_or_default()
}

/// The field, when it is a text that is not empty.
pub(super) fn filled<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.get(name)
        .filter(|value| value.str().is_some_and(|text| !text.is_empty()))
}

/// The entries of a list.
pub(super) fn items<'n>(node: &'n Node, name: &str) -> &'n [Node] {
    node.get(name).map_or(&[], Node::items)
}

/// The field, when it is a list with something in it.
pub(super) fn entries<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.get(name).filter(|list| !list.items().is_empty())
}

pub(super) fn is_true(node: &Node, name: &str) -> bool {
    node.get(name)
        .is_some_and(|value| value.value == Value::Bool(true))
}

/// The number of a field, however it is written.
pub(super) fn number(node: &Node, name: &str) -> Option<f64> {
    match &node.get(name)?.value {
        Value::Number(text) | Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The first of the fields that is set.
pub(super) fn first<'n>(
    node: &'n Node,
    names: &[&'static str],
) -> Option<(&'static str, &'n Node)> {
    for name in names {
        if let Some(value) = set(node, name) {
            return Some((name, value));
        }
    }
    None
}

/// At most one of the fields may be set.
pub(super) fn at_most_one<'n>(node: &'n Node, names: &[&'static str], walk: &mut SchemaWalk<'n>) {
    let Some((one, _)) = first(node, names) else {
        return;
    };
    for &name in names {
        if name == one {
            continue;
        }
        if let Some(value) = set(node, name) {
            let what = format!("stands beside {one}, and only one of {one} and {name} counts");
            walk.fault(Flaw::ExclusiveFields, value, what);
        }
    }
}

/// None of these fields goes with that one.
pub(super) fn not_beside<'n>(
    node: &'n Node,
    one: &str,
    others: &[&str],
    walk: &mut SchemaWalk<'n>,
) {
    if !has(node, one) {
        return;
    }
    for other in others {
        let Some(value) = set(node, other) else {
            continue;
        };
        let is_empty_list = matches!(&value.value, Value::Array(items) if items.is_empty());
        if !is_empty_list {
            let what = format!("cannot stand beside {one}");
            walk.fault(Flaw::ExclusiveFields, value, what);
        }
    }
}

/// At least one of the fields must be set.
pub(super) fn at_least_one<'n>(node: &'n Node, names: &[&'static str], walk: &mut SchemaWalk<'n>) {
    if first(node, names).is_some() {
        return;
    }
    let (last, others) = names.split_last().expect("a choice has names");
    let what = format!("lacks {} or {last}", others.join(", "));
    walk.fault(Flaw::MissingField, node, what);
}

/// Nothing may be said twice; `of` tells what an entry says.
pub(super) fn all_different<'n>(
    nodes: &'n [Node],
    of: impl Fn(&'n Node) -> Option<&'n Node>,
    walk: &mut SchemaWalk<'n>,
) {
    if nodes.len() < 2 {
        return;
    }
    let mut said: Vec<&'n Node> = nodes.iter().filter_map(of).collect();
    // Equal ones next to each other, the first in the text first.
    said.sort_by_key(|node| (key(node), node.span.start()));
    for pair in said.windows(2) {
        if key(pair[0]) == key(pair[1]) {
            let what = format!("repeats {}", shown(pair[1]));
            walk.fault(Flaw::Duplicate, pair[1], what);
        }
    }
}

fn key(node: &Node) -> &str {
    match &node.value {
        Value::Number(text) | Value::String(text) => text,
        _ => "",
    }
}
