//! Every object of the Snapshot by kind, each with the place it stands at, so that a rule can point
//! at its bytes.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::slice;
use std::sync::Arc;

use super::{Change, probe};
use crate::selector;
use meshladder_capture::Kind;
use meshladder_capture::object::{self, ObjectView, PlacedObject};
use meshladder_capture::snapshot::DocId;
use meshladder_text::shown;
use meshladder_text::text::Text;
use meshladder_text::tree::{Node, Value};

/// The document of objects that are in none.
pub(super) const ASSUMED: &str = "k8s/assumed.yaml";

/// The objects of a mesh.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// By kind; in each kind by namespace and name.
    by_kind: BTreeMap<Class, Arc<Vec<Object>>>,
}

/// What objects are kept by: their kind, or the name of one that is not in the table of kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Class {
    Known(Kind),
    Other(Text),
}

impl Class {
    fn of(kind: &Text, group: &str) -> Self {
        Kind::of(kind, group).map_or_else(|| Self::Other(kind.clone()), Self::Known)
    }

    fn name(&self) -> &str {
        match self {
            Self::Known(kind) => kind.singular(),
            Self::Other(name) => name,
        }
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Known(kind) => Some(*kind),
            Self::Other(_) => None,
        }
    }
}

/// By name, so that objects are told in the order of what people call them.
impl Ord for Class {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.name(), self.kind()).cmp(&(other.name(), other.kind()))
    }
}

impl PartialOrd for Class {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its document.
    pub doc: DocId,
    /// Where it stands in its document.
    pub pointer: Box<str>,
    /// What it is.
    pub id: ObjectRef,
    /// The API group; empty for core kinds.
    pub group: Text,
    /// The object.
    pub node: Node,
}

/// An object's identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// `VirtualService`, `Pod`, …
    pub kind: Text,
    /// Empty for what is not in a namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
}

impl ObjectRef {
    /// The identity of an object of a kind.
    pub fn of(kind: Kind, namespace: &str, name: &str) -> Self {
        Self::new(kind.singular(), namespace, name)
    }

    /// Whether it is an object of that kind; it does not tell the two kinds `Gateway` apart.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.singular()
    }

    /// Whether it is an object of one of these kinds.
    pub fn is_any(&self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.is(*kind))
    }

    /// The identity of what need not be an object of a cluster, such as a request.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// `VirtualService shop/catalog`, `Namespace shop`, `Request`
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        let [kind, namespace, name] = [kind, namespace, name].map(|part| shown::line(part));
        match (&*namespace, &*name) {
            ("", "") => f.write_str(&kind),
            ("", name) => write!(f, "{kind} {name}"),
            (namespace, name) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

impl Objects {
    pub(super) fn add(&mut self, doc: &DocId, object: ObjectView<'_>) {
        let (kind, pointer) = (object.kind().into(), object.pointer.into());
        self.take(
            doc,
            PlacedObject {
                node: object.node.clone(),
                kind,
                pointer,
            },
        );
    }

    pub(super) fn take(&mut self, doc: &DocId, taken: PlacedObject) {
        let PlacedObject {
            mut node,
            kind,
            pointer,
        } = taken;
        forget_managed_fields(&mut node);
        let metadata = |key| {
            node.at(["metadata", key])
                .and_then(Node::text)
                .unwrap_or_default()
        };
        let (namespace, name) = (metadata("namespace"), metadata("name"));
        let group = ObjectView::of(&node, &kind, &pointer, "").group();
        let class = Class::of(&kind, group);
        let alike = self.by_kind.entry(class).or_default();
        // The objects of a kind nearly always have one group, so the last one's is this one's too.
        let (kind, group) = match alike.last() {
            Some(Object {
                id, group: last, ..
            }) if *last == *group => (id.kind.clone(), last.clone()),
            _ => (kind.clone(), group.into()),
        };
        let id = ObjectRef {
            kind,
            namespace,
            name,
        };
        Arc::make_mut(alike).push(Object {
            doc: doc.clone(),
            pointer,
            id,
            group,
            node,
        });
    }

    pub(super) fn each_mut(&mut self, change: impl Fn(&mut Object)) {
        for objects in self.by_kind.values_mut() {
            Arc::make_mut(objects).iter_mut().for_each(&change);
        }
    }

    /// The order of documents means nothing, so it must not show.
    pub(super) fn sort(&mut self) {
        for objects in self.by_kind.values_mut() {
            Arc::make_mut(objects).shrink_to_fit();
            Arc::make_mut(objects)
                .sort_by(|a, b| (&a.id, &a.doc, &a.pointer).cmp(&(&b.id, &b.doc, &b.pointer)));
        }
    }

    /// Drops the objects for which there is another of the same identity that stands in a file.
    /// They are sorted.
    pub(super) fn replace(&mut self, is_file: impl Fn(&Object) -> bool) {
        for objects in self.by_kind.values_mut() {
            let same = |a: &Object, b: &Object| a.id == b.id && a.group == b.group;
            let filed: Vec<Object> = objects
                .iter()
                .filter(|object| is_file(object))
                .cloned()
                .collect();
            let is_replaced = |object: &Object| {
                let at = filed.partition_point(|file| file.id < object.id);
                !is_file(object)
                    && filed[at..]
                        .iter()
                        .take_while(|file| file.id == object.id)
                        .any(|f| same(f, object))
            };
            Arc::make_mut(objects).retain(|object| !is_replaced(object));
        }
    }

    /// Makes changes; the kinds that they do not touch stay shared.
    pub(super) fn change(&mut self, changes: &[&Change]) {
        for change in changes {
            self.change_one(change);
        }
        let doc = DocId::new("k8s/change.yaml");
        let created: Vec<Node> = changes
            .iter()
            .filter_map(|change| change.created())
            .collect();
        for node in &created {
            object::each_under(node, &mut |object| self.add(&doc, object));
        }
        if !created.is_empty() {
            self.sort();
        }
    }

    fn change_one(&mut self, change: &Change) {
        let name = change.object.kind.as_str();
        for (class, objects) in &mut self.by_kind {
            if class.name() != name {
                continue;
            }
            let at = objects.partition_point(|object| object.id < change.object);
            let is_here = objects.get(at).is_some_and(|one| one.id == change.object);
            if is_here {
                let objects = Arc::make_mut(objects);
                match change.apply(&objects[at].node) {
                    Some(node) => objects[at].node = node,
                    None => drop(objects.remove(at)),
                }
                return;
            }
        }
    }

    /// The names of the kinds there are.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.by_kind.keys().map(Class::name)
    }

    /// Whether there is an object, not just an assumed one, of a kind.
    pub fn has_any(&self, kind: Kind) -> bool {
        let objects = self.by_kind.get(&Class::Known(kind));
        objects.is_some_and(|objects| objects.iter().any(|object| !object.is_assumed()))
    }

    /// All objects of a kind.
    pub fn of_kind(&self, kind: Kind) -> &[Object] {
        probe::note(kind);
        self.by_kind
            .get(&Class::Known(kind))
            .map_or(&[], |objects| objects.as_slice())
    }

    /// All objects whose kind has that name, whatever their group: also of kinds that are not in
    /// the table.
    pub fn called(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.classes(kind).flatten()
    }

    fn classes(&self, name: &str) -> impl Iterator<Item = &[Object]> {
        let from = Class::Other(name.into());
        self.by_kind
            .range(from..)
            .take_while(move |(class, _)| class.name() == name)
            .map(|(class, objects)| {
                if let Class::Known(kind) = class {
                    probe::note(*kind);
                }
                objects.as_slice()
            })
    }

    /// All objects of a kind in a namespace.
    pub fn in_namespace(&self, kind: Kind, namespace: &str) -> slice::Iter<'_, Object> {
        in_namespace(self.of_kind(kind), namespace).iter()
    }

    /// The object of that name.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.named(kind, namespace, name).next()
    }

    /// The objects of that name: several sources may have it.
    pub fn named(&self, kind: Kind, namespace: &str, name: &str) -> slice::Iter<'_, Object> {
        named(self.of_kind(kind), namespace, name).iter()
    }

    /// The object with that identity.
    pub fn find(&self, id: &ObjectRef) -> Option<&Object> {
        self.classes(&id.kind)
            .find_map(|objects| named(objects, &id.namespace, &id.name).first())
    }

    /// Every object, kind by kind.
    pub fn all(&self) -> impl Iterator<Item = &Object> {
        self.by_kind.values().flat_map(|objects| objects.iter())
    }
}

/// Those of a namespace, of objects in order.
fn in_namespace<'o>(objects: &'o [Object], namespace: &str) -> &'o [Object] {
    let start = objects.partition_point(|object| object.id.namespace.as_str() < namespace);
    let end = objects.partition_point(|object| object.id.namespace.as_str() <= namespace);
    &objects[start..end]
}

/// Those of a name, of objects in order.
fn named<'o>(objects: &'o [Object], namespace: &str, name: &str) -> &'o [Object] {
    let objects = in_namespace(objects, namespace);
    let start = objects.partition_point(|object| object.id.name.as_str() < name);
    let end = objects.partition_point(|object| object.id.name.as_str() <= name);
    &objects[start..end]
}

impl Object {
    /// Its kind, if it is in the table of kinds.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of(&self.id.kind, &self.group)
    }

    /// Whether it is of a kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.id.is(kind) && self.kind() == Some(kind)
    }

    /// Whether it stands in no document: what a mesh has unless its files say otherwise. It is
    /// never evidence.
    pub fn is_assumed(&self) -> bool {
        self.doc.as_str() == ASSUMED
    }

    /// As a view.
    pub fn object(&self) -> ObjectView<'_> {
        ObjectView::of(&self.node, &self.id.kind, &self.pointer, self.doc.split().0)
    }

    /// `spec`
    pub fn spec(&self) -> Option<&Node> {
        self.node.get("spec")
    }

    /// The value at a path of member names below `spec`.
    pub fn spec_at<const N: usize>(&self, path: [&str; N]) -> Option<&Node> {
        self.spec()?.at(path)
    }

    /// The elements of the list `spec.KEY`; nothing when there is none.
    pub fn spec_list(&self, key: &str) -> &[Node] {
        self.spec_at([key]).map_or(&[], Node::items)
    }

    /// The strings of the list `spec.KEY`.
    pub fn spec_strings(&self, key: &str) -> impl Iterator<Item = &str> {
        self.spec_list(key).iter().filter_map(Node::str)
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.node.at(["metadata", "labels", key])?.str()
    }

    /// `metadata.labels`
    pub fn labels(&self) -> Option<&Node> {
        self.node.at(["metadata", "labels"])
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.node.at(["metadata", "annotations", key])?.str()
    }

    /// `metadata.creationTimestamp`, RFC 3339: its order as text is its order in time.
    pub fn created(&self) -> &str {
        self.node
            .at(["metadata", "creationTimestamp"])
            .and_then(Node::str)
            .unwrap_or_default()
    }

    /// Whether a Kubernetes label selector (`matchLabels`, `matchExpressions`) accepts this
    /// object's labels.
    pub fn accepted_by(&self, label_selector: &Node) -> bool {
        selector::accepts(label_selector, self.labels())
    }

    /// The path of a part inside this object, as a JSON patch names it.
    pub fn path_of(&self, part: &Node) -> String {
        let pointer = self.pointer_of(part);
        pointer
            .strip_prefix(&*self.pointer)
            .unwrap_or(&pointer)
            .to_owned()
    }

    /// The pointer, in the document, of a node that is part of this object; the object's own for a
    /// foreign one.
    pub fn pointer_of(&self, part: &Node) -> String {
        let mut path = String::from(&*self.pointer);
        // A node that is not inside leaves the path as it was.
        find(&self.node, part, &mut path);
        path
    }
}

/// Extends `path` to `part`, found by identity: first where its bytes stand, as an object may be
/// large, and then, for what an anchor brought from elsewhere, in all of it.
fn find(node: &Node, part: &Node, path: &mut String) -> bool {
    if std::ptr::eq(node, part) {
        return true;
    }
    let length = path.len();
    let mut inside = |token: &str, child: &Node| {
        path.push('/');
        path.push_str(&token.replace('~', "~0").replace('/', "~1"));
        let found = find(child, part, path);
        if !found {
            path.truncate(length);
        }
        found
    };
    let is_before = |child: &Node| child.span.end() <= part.span.start();
    match &node.value {
        Value::Object(members) => {
            let near = members.get(members.partition_point(|member| is_before(&member.value)));
            near.into_iter()
                .chain(members)
                .any(|member| inside(&member.key, &member.value))
        }
        Value::Array(items) => {
            let near = items.partition_point(is_before);
            let all = items
                .get(near)
                .map(|item| (near, item))
                .into_iter()
                .chain(items.iter().enumerate());
            all.into_iter()
                .any(|(i, item)| inside(&i.to_string(), item))
        }
        _ => false,
    }
}

/// Half of many an object, and of no interest to any question.
fn forget_managed_fields(node: &mut Node) {
    let Value::Object(members) = &mut node.value else {
        return;
    };
    let Some(metadata) = members.iter_mut().find(|member| &*member.key == "metadata") else {
        return;
    };
    metadata
        .value
        .retain_members(|member| &*member.key != "managedFields");
}

#[cfg(test)]
mod tests {
    use crate::Mesh;
    use meshladder_capture::Kind;
    use meshladder_capture::snapshot::{Builder, DocId};

    const YAML: &str = "kind: Pod\nmetadata: {name: b, namespace: x, managedFields: [1]}\n---\nkind: Pod\nmetadata:\n  name: a\n  namespace: x\n  labels: {a/b: c}\n";

    #[test]
    fn an_object_knows_the_pointer_of_each_of_its_parts() {
        let mut builder = Builder::new();
        builder.add(DocId::new("k8s/a.yaml"), "a.yaml", YAML.into());
        let mesh = Mesh::build(&builder.finish());
        let names: Vec<_> = mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .map(|o| (o.id.to_string(), &*o.pointer))
            .collect();
        assert_eq!(
            names,
            [("Pod x/a".to_owned(), "/1"), ("Pod x/b".to_owned(), "/0")]
        );
        let a = mesh.objects.get(Kind::Pod, "x", "a").expect("it is there");
        let label = a
            .node
            .at(["metadata", "labels", "a/b"])
            .expect("it is there");
        assert_eq!(a.pointer_of(label), "/1/metadata/labels/a~1b");
        let b = mesh.objects.get(Kind::Pod, "x", "b").expect("it is there");
        assert_eq!(
            (
                a.pointer_of(&b.node),
                b.node.at(["metadata", "managedFields"])
            ),
            ("/1".to_owned(), None)
        );
    }
}
