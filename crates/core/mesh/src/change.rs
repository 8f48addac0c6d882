//! A change of objects, applied in memory: what the objects would say if a fix were made.

use super::ObjectRef;
use meshladder_text::json::Raw;
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
    /// A JSON merge patch (RFC 7386), as JSON text.
    Merge(String),
    /// A JSON patch (RFC 6902), as JSON text: the operations add, replace and remove.
    Json(String),
    /// It is deleted.
    Delete,
    /// It is created, as JSON or YAML text.
    Create(String),
}

impl Change {
    /// The object as it would be; none when it would be gone. A patch that cannot be read changes
    /// nothing.
    pub fn apply(&self, node: &Node) -> Option<Node> {
        let mut node = node.clone();
        match &self.patch {
            Patch::Delete => return None,
            Patch::Merge(text) => {
                if let Some(patch) = json(text) {
                    merge(&mut node, &patch);
                }
            }
            Patch::Json(text) => {
                for operation in json(text).iter().flat_map(Node::items) {
                    operate(&mut node, operation);
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

fn json(text: &str) -> Option<Node> {
    Node::from_json(Raw::of(text).ok()?).ok()
}

/// "If the provided merge patch contains members that do not appear within the target, those
/// members are added. […] Null values in the merge patch are given special meaning to indicate the
/// removal of existing values."
fn merge(target: &mut Node, patch: &Node) {
    let Value::Object(changes) = &patch.value else {
        target.clone_from(patch);
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
            (_, Some(at)) => merge(&mut members[at].value, &change.value),
            (_, None) => {
                let mut value = Node {
                    value: Value::Null,
                    span: patch.span,
                };
                merge(&mut value, &change.value);
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

fn operate(root: &mut Node, operation: &Node) {
    let (Some(op), Some(path)) = (operation.str_at("op"), operation.str_at("path")) else {
        return;
    };
    let Some((parent, token)) = path.rsplit_once('/') else {
        return;
    };
    let token = token.replace("~1", "/").replace("~0", "~");
    let Some(parent) = step_to(root, parent) else {
        return;
    };
    match (&mut parent.value, op, operation.get("value")) {
        (Value::Array(items), "remove", _) => {
            if let Some(at) = token.parse().ok().filter(|at: &usize| *at < items.len()) {
                edit(items, |items| drop(items.remove(at)));
            }
        }
        (Value::Array(items), "add", Some(value)) => {
            let at = if token == "-" {
                items.len()
            } else {
                token.parse().unwrap_or(items.len())
            };
            edit(items, |items| {
                items.insert(at.min(items.len()), value.clone())
            });
        }
        (Value::Array(items), "replace", Some(value)) => {
            if let Some(item) = token.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                item.clone_from(value);
            }
        }
        (Value::Object(members), "remove", _) => {
            edit(members, |members| {
                members.retain(|member| *member.key != *token)
            });
        }
        (Value::Object(members), "add" | "replace", Some(value)) => {
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
        let object = json(r#"{"a":{"b":[1,2],"c":"x"}}"#).expect("it is JSON");
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
        let node = after(Patch::Merge(
            r#"{"a":{"c":null,"b":[3],"d":{"e":1,"f":null}}}"#.to_owned(),
        ))
        .expect("kept");
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
        let patch = r#"[{"op":"remove","path":"/a/b/0"},{"op":"add","path":"/a/b/-","value":9},{"op":"replace","path":"/a/c","value":"y"},{"op":"replace","path":"/none/x","value":1}]"#;
        let node = after(Patch::Json(patch.to_owned())).expect("kept");
        assert_eq!(text(&node, "/a/b/0"), Some("Number(\"2\")".to_owned()));
        assert_eq!(text(&node, "/a/b/1"), Some("Number(\"9\")".to_owned()));
        assert_eq!(text(&node, "/a/c"), Some("String(\"y\")".to_owned()));
        assert_eq!(after(Patch::Delete), None);
    }
}
