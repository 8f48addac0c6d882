//! Values that stand in no document yet: what a patch puts into an object.

use super::{Member, Node, Span, Value};
use crate::json::to_line;
use crate::text::Text;
use serde_core::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

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
        to_line(self)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => number(text, serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items.iter().map(|item| &item.value)),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|m| (&*m.key, &m.value.value)))
            }
        }
    }
}

/// The text of a number is kept: `1.10` stays `1.10`.
fn number<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    // Nearly all are plain, and need not be checked byte by byte.
    if let Ok(plain) = text.parse::<u64>()
        && !text.starts_with(['+', '0'])
    {
        return serializer.serialize_u64(plain);
    }
    match RawValue::from_string(text.to_owned()) {
        Ok(raw) => raw.serialize(serializer),
        // Whoever made it took text for a number; JSON has no such number.
        Err(_) => serializer.serialize_str(text),
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
        let numbers = ["0", "7", "1.10", "-1e3", "inf"].map(|text| Value::Number(text.into()));
        assert_eq!(Value::list(numbers).to_json(), r#"[0,7,1.10,-1e3,"inf"]"#);
        let gone = Value::object([("a\"b", None::<bool>)]);
        assert_eq!(gone.to_json(), r#"{"a\"b":null}"#);
    }
}
