//! Values that are written as JSON or YAML and stand in no document.

use meshladder_text::tree::{Member, Node, Span, Value};

pub(super) fn node(value: Value) -> Node {
    Node {
        value,
        span: Span::default(),
    }
}

pub(super) fn text(text: impl AsRef<str>) -> Node {
    node(Value::String(text.as_ref().into()))
}

pub(super) fn number(number: usize) -> Node {
    node(Value::Number(number.to_string().into()))
}

pub(super) fn truth(value: bool) -> Node {
    node(Value::Bool(value))
}

pub(super) fn list(items: impl IntoIterator<Item = Node>) -> Node {
    node(Value::Array(items.into_iter().collect()))
}

pub(super) fn texts<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Node {
    list(items.into_iter().map(text))
}

/// An object, its members in this order.
pub(super) fn object<K: AsRef<str>>(members: impl IntoIterator<Item = (K, Node)>) -> Node {
    let member = |(key, value): (K, Node)| Member {
        key: key.as_ref().into(),
        key_span: Span::default(),
        value,
    };
    node(Value::Object(members.into_iter().map(member).collect()))
}

/// An object whose members are all text.
pub(super) fn words<K: AsRef<str>, V: AsRef<str>>(
    members: impl IntoIterator<Item = (K, V)>,
) -> Node {
    object(members.into_iter().map(|(key, value)| (key, text(value))))
}
