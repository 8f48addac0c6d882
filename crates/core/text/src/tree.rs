//! A parsed value in which every part knows its byte range in the source: what YAML and small JSON
//! become.
//!
//! Texts are shared: the same few names stand in every object. Large dumps never become a tree; see
//! [`super::json`].

mod build;

use std::ops::Range;
use std::sync::Arc;

use super::json::{self, Raw, TextFault, ValueKind};
use super::name::{Name, Names};
use super::text::Text;

/// How deep a tree may nest: deeper values cannot come from a Kubernetes API or an Envoy.
pub const MAX_DEPTH: usize = 128;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its bytes in the source document.
    pub span: Span,
}

/// Where something stands in its document, in half the room of a range: a mesh has millions of
/// them. What lies behind the first 4 GiB of a document counts as its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

/// A JSON value. Numbers keep their text: `1.10` stays `1.10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number in JSON's notation.
    Number(Arc<str>),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Box<[Node]>),
    /// An object, members in source order.
    Object(Box<[Member]>),
}

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name.
    pub key: Name,
    /// Where the name stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Span {
    /// A place without bytes.
    pub fn at(place: usize) -> Self {
        (place..place).into()
    }

    /// The first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// Behind the last byte.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// As a range, to slice the text with.
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// Whether it has no bytes.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: u32::try_from(range.start).unwrap_or(u32::MAX),
            end: u32::try_from(range.end).unwrap_or(u32::MAX),
        }
    }
}

impl Node {
    /// The tree of a JSON value.
    ///
    /// # Errors
    /// When the value is not JSON, or nests deeper than [`MAX_DEPTH`].
    pub fn from_json(raw: Raw<'_>) -> Result<Self, TextFault> {
        Self::from_json_with(raw, &mut Names::default())
    }

    /// As [`Node::from_json`], sharing the names that were read before.
    ///
    /// # Errors
    /// See [`Node::from_json`].
    pub fn from_json_with(raw: Raw<'_>, names: &mut Names) -> Result<Self, TextFault> {
        build(raw, 0, names)
    }

    /// The member of that name.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Object(members) => members.iter().find(|m| &*m.key == key).map(|m| &m.value),
            _ => None,
        }
    }

    /// The value at a path of member names.
    pub fn at<const N: usize>(&self, path: [&str; N]) -> Option<&Node> {
        let mut node = self;
        for key in path {
            node = node.get(key)?;
        }
        Some(node)
    }

    /// The elements of an array; nothing for any other value.
    pub fn items(&self) -> &[Node] {
        if let Value::Array(items) = &self.value {
            items
        } else {
            &[]
        }
    }

    /// The members of an object; nothing for any other value.
    pub fn members(&self) -> &[Member] {
        if let Value::Object(members) = &self.value {
            members
        } else {
            &[]
        }
    }

    /// The text of a string.
    pub fn str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value {
            Some(text)
        } else {
            None
        }
    }

    /// The text of a string, shared.
    pub fn text(&self) -> Option<Text> {
        if let Value::String(text) = &self.value {
            Some(text.into())
        } else {
            None
        }
    }

    /// The elements of the array member `key`; nothing when there is none.
    pub fn items_at(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Self::items)
    }

    /// The text of the string member `key`.
    pub fn str_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.str()
    }

    /// Drops the members of an object that are not to be kept.
    pub fn retain_members(&mut self, keep: impl FnMut(&Member) -> bool) {
        if let Value::Object(members) = &mut self.value {
            edit(members, |members| members.retain(keep));
        }
    }

    /// As JSON, without white space.
    pub fn to_json(&self) -> String {
        self.value.to_json()
    }

    /// The node at an RFC 6901 pointer.
    pub fn pointer(&self, pointer: &str) -> Option<&Node> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut node = self;
        for token in pointer.strip_prefix('/')?.split('/') {
            node = node.step(token)?;
        }
        Some(node)
    }

    /// The element or member that one token of a pointer names.
    fn step(&self, token: &str) -> Option<&Node> {
        if let Value::Array(items) = &self.value {
            return items.get(token.parse::<usize>().ok()?);
        }
        // RFC 6901, 4: `~1` is decoded before `~0`, so that `~01` becomes `~1` and not `/`.
        self.get(&token.replace("~1", "/").replace("~0", "~"))
    }
}

/// Changes how many elements a list has.
pub fn edit<T>(list: &mut Box<[T]>, change: impl FnOnce(&mut Vec<T>)) {
    let mut all = std::mem::take(list).into_vec();
    change(&mut all);
    *list = all.into();
}

fn build(raw: Raw<'_>, depth: usize, names: &mut Names) -> Result<Node, TextFault> {
    if depth > MAX_DEPTH {
        return Err(TextFault::new(raw.offset(), "nested too deep"));
    }
    let value = match raw.kind() {
        ValueKind::Object => object(raw, depth, names)?,
        ValueKind::Array => array(raw, depth, names)?,
        ValueKind::String => Value::String(raw.string().unwrap_or_default().into()),
        ValueKind::Scalar => scalar(raw)?,
    };
    Ok(Node {
        value,
        span: (raw.offset()..raw.end()).into(),
    })
}

fn array(raw: Raw<'_>, depth: usize, names: &mut Names) -> Result<Value, TextFault> {
    let mut walk = raw.elements();
    let mut items = Vec::new();
    for element in walk.by_ref() {
        items.push(build(element, depth + 1, names)?);
    }
    match walk.fault() {
        Some(fault) => Err(fault.clone()),
        None => Ok(Value::Array(items.into())),
    }
}

fn object(raw: Raw<'_>, depth: usize, names: &mut Names) -> Result<Value, TextFault> {
    let mut walk = raw.members();
    let mut members = Vec::new();
    while let Some((key, value)) = walk.next() {
        let key_span = walk.key_span().into();
        members.push(Member {
            key: names.of(&key),
            key_span,
            value: build(value, depth + 1, names)?,
        });
    }
    match walk.fault() {
        Some(fault) => Err(fault.clone()),
        None => Ok(Value::Object(members.into())),
    }
}

fn scalar(raw: Raw<'_>) -> Result<Value, TextFault> {
    // The document's own value reaches to the end of the text, so a lone scalar may have white
    // space behind it.
    let text = raw.text().trim_end();
    if let Err(fault) = json::check(text) {
        let at = raw.offset() + fault.at;
        return Err(TextFault::new(at, format!("`{text}` is not a JSON value")));
    }
    Ok(match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        number => Value::Number(number.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(doc: &str) -> Result<Node, TextFault> {
        Node::from_json(Raw::of(doc)?)
    }

    #[test]
    fn every_value_and_key_knows_its_bytes() {
        let doc = r#"{"a": [1, "x\n"], "b": {"c/d": null}}"#;
        let root = tree(doc).expect("the document is JSON");
        let x = root.pointer("/a/1").expect("it is there");
        assert_eq!((x.str(), &doc[x.span.range()]), (Some("x\n"), r#""x\n""#));
        assert_eq!(
            root.pointer("/b/c~1d").map(|n| &n.value),
            Some(&Value::Null)
        );
        assert_eq!(&doc[root.members()[1].key_span.range()], r#""b""#);
        assert!(root.pointer("/a/2").is_none() && root.pointer("a").is_none());
    }

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let doc = r#"{"a":[1,2.50,"x\"y",null,true],"b":{}}"#;
        assert_eq!(tree(doc).expect("JSON").to_json(), doc);
    }

    #[test]
    fn what_is_not_json_is_a_fault_with_its_place() {
        for (doc, at) in [("[NaN]", 1), ("{\"a\":01}", 5), ("[1,", 3), ("{\"a\":}", 5)] {
            assert_eq!(tree(doc).map_err(|f| f.at), Err(at), "{doc}");
        }
        assert_eq!(
            tree(&"[".repeat(100_000)).map_err(|f| f.what),
            Err("the document is cut short".to_owned())
        );
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(
            tree(&deep).map_err(|f| f.what),
            Err("nested too deep".to_owned())
        );
    }
}
