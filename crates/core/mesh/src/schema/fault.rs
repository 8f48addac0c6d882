//! What is wrong with an object.

use std::fmt::Write;

use crate::{Object, ObjectRef, Op};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::DocId;
use meshladder_text::json::escape;
use meshladder_text::tree::{Node, Value};

/// One thing that is wrong with an object.
#[derive(Clone, Debug)]
pub struct SchemaFault {
    /// What sort of thing.
    pub flaw: Flaw,
    /// The object.
    pub object: ObjectRef,
    /// The document it stands in.
    pub doc: DocId,
    /// Where in the document the part stands.
    pub pointer: String,
    /// The part of the object: `spec.http[0].timeout`; empty for the object as a whole.
    pub place: String,
    /// What is wrong there, to follow the part's name: `is 0, out of range`.
    pub what: String,
    /// The operations of a JSON patch that repairs it, where that is certain.
    pub patch: Option<Vec<Op>>,
}

/// One thing that is wrong, while the object is at hand.
#[derive(Debug)]
pub(super) struct ObjectFault<'m> {
    pub(super) flaw: Flaw,
    pub(super) object: &'m Object,
    pub(super) node: &'m Node,
    pub(super) what: String,
    pub(super) repair: Option<Repair>,
}

/// What sort of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// There is no such field.
    UnknownField,
    /// Text where a number belongs, a list where an object belongs.
    WrongType,
    /// Not one of the names that there are.
    UnknownEnumValue,
    /// A field that must be there is not.
    MissingField,
    /// Fields that exclude each other.
    ExclusiveFields,
    /// Written the wrong way, or out of range.
    InvalidValue,
    /// No name of a host, or not where one may stand.
    InvalidHost,
    /// RE2 does not take it.
    InvalidRegex,
    /// A value that stands there twice, where each must be different.
    Duplicate,
    /// One field asks for another, or against it.
    Misfit,
    /// Read, and ignored.
    NoEffect,
    /// There is a better field by now.
    Deprecated,
    /// Istio's own parser reads it, the API server does not.
    LooselyWritten,
    /// It reaches further than it seems.
    Wider,
}

/// A repair that is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// The field is renamed.
    Rename(&'static str),
    /// The value is replaced by this one.
    Replace(Value),
}

impl ObjectFault<'_> {
    pub(super) fn told(self) -> SchemaFault {
        let path = self.object.path_of(self.node);
        // Two kinds are called Gateway, and patches are for Istio's.
        let patch = match &self.repair {
            Some(repair) if !self.object.is(Kind::K8sGateway) => patch(repair, &path, self.node),
            _ => None,
        };
        SchemaFault {
            flaw: self.flaw,
            object: self.object.id.clone(),
            doc: self.object.doc.clone(),
            pointer: self.object.pointer_of(self.node),
            place: dotted(&self.object.node, &path),
            patch,
            what: self.what,
        }
    }
}

fn patch(repair: &Repair, path: &str, node: &Node) -> Option<Vec<Op>> {
    Some(match repair {
        Repair::Replace(value) => vec![Op::replace(path, value.clone())],
        Repair::Rename(name) => {
            let (parent, _) = path.rsplit_once('/')?;
            vec![Op::add(format!("{parent}/{name}"), node), Op::remove(path)]
        }
    })
}

/// A pointer as people write it.
fn dotted(object: &Node, pointer: &str) -> String {
    let mut node = Some(object);
    let mut path = String::new();
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let is_list = node.is_some_and(|node| matches!(node.value, Value::Array(_)));
        node = node.and_then(|node| match &node.value {
            Value::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => node.get(&name),
        });
        if is_list {
            write!(path, "[{name}]").expect("a String takes all text");
        } else if name.contains(['.', '/', '[']) {
            write!(path, "[{}]", escape(&name)).expect("a String takes all text");
        } else {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(&name);
        }
    }
    path
}

/// A value, cut short.
pub(super) fn shown(node: &Node) -> String {
    match &node.value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        _ => {
            let text = node.to_json();
            match text.char_indices().nth(60) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            }
        }
    }
}
