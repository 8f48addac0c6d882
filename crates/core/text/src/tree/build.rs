//! Values that stand in no document yet: what a patch puts into an object.

use super::{Member, Node, Span, Value};
use crate::json::escape_into;
use crate::text::Text;

impl Value {
    /// An object, its members in this order.
    pub fn object<K: AsRef<str>, V: Into<Value>>(
        members: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut all = Vec::new();
        for (key, value) in members {
            all.push(Member {
                key: key.as_ref().into(),
                key_span: Span::default(),
                value: value.into().into(),
            });
        }
        Self::Object(all.into())
    }

    /// A list.
    pub fn list<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Self {
        let items: Vec<Node> = items.into_iter().map(|item| item.into().into()).collect();
        Self::Array(items.into())
    }

    /// A value at the end of a path of objects that have one member each:
    /// `{"spec":{"replicas":1}}`.
    pub fn nested<const N: usize>(path: [&str; N], value: impl Into<Value>) -> Self {
        let mut nested = value.into();
        for key in path.into_iter().rev() {
            nested = Self::object([(key, nested)]);
        }
        nested
    }

    /// As JSON, without white space.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => escape_into(out, text),
            Self::Array(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number == 0 { "" } else { "," });
                    item.value.write_json(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (number, member) in members.iter().enumerate() {
                    out.push_str(if number == 0 { "" } else { "," });
                    escape_into(out, &member.key);
                    out.push(':');
                    member.value.value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self {
            value,
            span: Span::default(),
        }
    }
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Self {
        node.value.clone()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::String(text.as_str().into())
    }
}

impl From<&Text> for Value {
    fn from(text: &Text) -> Self {
        Self::String((&**text).into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.to_string().into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        u64::from(number).into()
    }
}

impl<V: Into<Value>, const N: usize> From<[V; N]> for Value {
    fn from(items: [V; N]) -> Self {
        Self::list(items)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(items: Vec<V>) -> Self {
        Self::list(items)
    }
}

/// Nothing is `null`: in a merge patch, what removes a member.
impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_member_by_member() {
        let port = Value::object([("name", Value::from("tcp")), ("port", 80_u16.into())]);
        let value = Value::nested(["spec", "ports"], [port]);
        assert_eq!(
            value.to_json(),
            r#"{"spec":{"ports":[{"name":"tcp","port":80}]}}"#
        );
        let gone = Value::object([("a\"b", None::<bool>)]);
        assert_eq!(gone.to_json(), r#"{"a\"b":null}"#);
    }
}
