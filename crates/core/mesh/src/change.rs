//! A change of objects, applied in memory: what the objects would say if a fix were made.

use super::ObjectRef;
use meshladder_text::tree::{Member, Node, Span, Value, edit};
use meshladder_text::yaml;

/// A change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub object: ObjectRef,
    /// What is done to it.
    pub patch: Patch,
}

/// What is done to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// A JSON merge patch (RFC 7386).
    Merge(Value),
    /// A JSON patch (RFC 6902).
    Json(Vec<Op>),
    /// It is deleted.
    Delete,
    /// It is created, as JSON or YAML text.
    Create(String),
}

/// One operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    verb: Verb,
    /// An RFC 6901 pointer into the object.
    path: String,
    /// What is put there; `remove` has none.
    value: Option<Node>,
}

/// The operations that fixes need of those RFC 6902 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Remove,
}

impl Op {
    /// Sets a member, or puts an item in front of the one at the path; `-` is behind the last.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::put(Verb::Add, path.into(), value.into())
    }

    /// Puts a value in the place of the one that is there.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::put(Verb::Replace, path.into(), value.into())
    }

    /// Takes a member or an item away.
    pub fn remove(path: impl Into<String>) -> Self {
        Self {
            verb: Verb::Remove,
            path: path.into(),
            value: None,
        }
    }

    fn put(verb: Verb, path: String, value: Value) -> Self {
        Self {
            verb,
            path,
            value: Some(value.into()),
        }
    }

    fn to_value(&self) -> Value {
        let verb = match self.verb {
            Verb::Add => "add",
            Verb::Replace => "replace",
            Verb::Remove => "remove",
        };
        let mut members = vec![
            ("op", Value::from(verb)),
            ("path", self.path.as_str().into()),
        ];
        members.extend(self.value.as_ref().map(|value| ("value", value.into())));
        Value::object(members)
    }
}

impl Patch {
    /// A JSON patch as kubectl takes it: a list of operations.
    pub fn json_text(ops: &[Op]) -> String {
        Value::list(ops.iter().map(Op::to_value)).to_json()
    }
}

impl Change {
    /// The object as it would be; none when it would be gone. An operation on a place that is not
    /// there changes nothing.
    pub fn apply(&self, node: &Node) -> Option<Node> {
        let mut node = node.clone();
        match &self.patch {
            Patch::Delete => return None,
            Patch::Merge(patch) => merge(&mut node, patch),
            Patch::Json(ops) => {
                for op in ops {
                    operate(&mut node, op);
                }
            }
            Patch::Create(_) => {}
        }
        Some(node)
    }

    /// The object that it creates.
    pub(super) fn created(&self) -> Option<Node> {
        let Patch::Create(text) = &self.patch else {
            return None;
        };
        yaml::load(text).documents.into_iter().next()
    }
}

/// "If the provided merge patch contains members that do not appear within the target, those
/// members are added. […] Null values in the merge patch are given special meaning to indicate the
/// removal of existing values."
fn merge(target: &mut Node, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone().into();
        return;
    };
    if !matches!(target.value, Value::Object(_)) {
        target.value = Value::Object(Box::default());
    }
    let Value::Object(members) = &mut target.value else {
        return;
    };
    for change in changes {
        let known = members.iter().position(|member| member.key == change.key);
        match (&change.value.value, known) {
            (Value::Null, Some(at)) => edit(members, |members| drop(members.remove(at))),
            (Value::Null, None) => {}
            (value, Some(at)) => merge(&mut members[at].value, value),
            (added, None) => {
                // A `null` inside what is added removes nothing, and must not be added itself.
                let mut value = Node::from(Value::Null);
                merge(&mut value, added);
                let member = Member {
                    key: change.key.clone(),
                    key_span: change.key_span,
                    value,
                };
                edit(members, |members| members.push(member));
            }
        }
    }
}

fn operate(root: &mut Node, op: &Op) {
    let Some((parent, token)) = op.path.rsplit_once('/') else {
        return;
    };
    let token = token.replace("~1", "/").replace("~0", "~");
    let Some(parent) = step_to(root, parent) else {
        return;
    };
    match (&mut parent.value, op.verb, &op.value) {
        (Value::Array(items), Verb::Remove, _) => {
            if let Some(at) = token.parse().ok().filter(|at: &usize| *at < items.len()) {
                edit(items, |items| drop(items.remove(at)));
            }
        }
        (Value::Array(items), Verb::Add, Some(value)) => {
            let at = if token == "-" {
                items.len()
            } else {
                token.parse().unwrap_or(items.len())
            };
            edit(items, |items| {
                items.insert(at.min(items.len()), value.clone());
            });
        }
        (Value::Array(items), Verb::Replace, Some(value)) => {
            if let Some(item) = token.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                item.clone_from(value);
            }
        }
        (Value::Object(members), Verb::Remove, _) => {
            edit(members, |members| {
                members.retain(|member| *member.key != *token);
            });
        }
        (Value::Object(members), Verb::Add | Verb::Replace, Some(value)) => {
            if let Some(member) = members.iter_mut().find(|member| *member.key == *token) {
                member.value.clone_from(value);
            } else {
                let member = Member {
                    key: (*token).into(),
                    key_span: Span::default(),
                    value: value.clone(),
                };
                edit(members, |members| members.push(member));
            }
        }
        _ => {}
    }
}

fn step_to<'n>(root: &'n mut Node, pointer: &str) -> Option<&'n mut Node> {
    pointer.split('/').skip(1).try_fold(root, |node, token| {
        let token = token.replace("~1", "/").replace("~0", "~");
        match &mut node.value {
            Value::Array(items) => items.get_mut(token.parse::<usize>().ok()?),
            Value::Object(members) => members
                .iter_mut()
                .find(|m| *m.key == *token)
                .map(|m| &mut m.value),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left at `/a`, as a pointer finds it.
    fn after(patch: Patch) -> Option<Node> {
        let a = Value::object([("b", Value::from([1_u16, 2])), ("c", "x".into())]);
        let object = Value::nested(["a"], a).into();
        Change {
            object: ObjectRef::default(),
            patch,
        }
        .apply(&object)
    }

    fn text(node: &Node, pointer: &str) -> Option<String> {
        node.pointer(pointer).map(|n| format!("{:?}", n.value))
    }

    #[test]
    fn a_merge_patch_adds_replaces_and_removes() {
        let d = Value::object([("e", Value::from(1_u16)), ("f", Value::Null)]);
        let a = Value::object([("c", Value::Null), ("b", [3_u16].into()), ("d", d)]);
        let node = after(Patch::Merge(Value::nested(["a"], a))).expect("kept");
        assert_eq!(text(&node, "/a/c"), None);
        assert_eq!(
            (text(&node, "/a/b/0"), text(&node, "/a/b/1")),
            (Some("Number(\"3\")".to_owned()), None)
        );
        assert_eq!(
            (text(&node, "/a/d/e"), text(&node, "/a/d/f")),
            (Some("Number(\"1\")".to_owned()), None)
        );
    }

    #[test]
    fn a_json_patch_does_each_operation() {
        let ops = vec![
            Op::remove("/a/b/0"),
            Op::add("/a/b/-", 9_u16),
            Op::replace("/a/c", "y"),
            Op::replace("/none/x", 1_u16),
        ];
        let node = after(Patch::Json(ops)).expect("kept");
        assert_eq!(text(&node, "/a/b/0"), Some("Number(\"2\")".to_owned()));
        assert_eq!(text(&node, "/a/b/1"), Some("Number(\"9\")".to_owned()));
        assert_eq!(text(&node, "/a/c"), Some("String(\"y\")".to_owned()));
        assert_eq!(after(Patch::Delete), None);
    }

    #[test]
    fn kubectl_takes_operations_as_a_list() {
        let ops = [Op::remove("/a\"b"), Op::add("/c/-", ["x"])];
        let expected =
            r#"[{"op":"remove","path":"/a\"b"},{"op":"add","path":"/c/-","value":["x"]}]"#;
        assert_eq!(Patch::json_text(&ops), expected);
    }
}
