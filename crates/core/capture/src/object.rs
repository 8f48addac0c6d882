//! Objects in documents: lists, single objects, multi-document YAML.

mod listed;

use crate::Kind;
use crate::snapshot::{DocId, Document, Problem, Shape, Snapshot, too_large};
use meshladder_text::json::{Raw, TextFault};
use meshladder_text::name::Names;
use meshladder_text::parallel;
use meshladder_text::text::Text;
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml::{self, Scalars, StreamPart, YamlStream};

/// One object, as a view over its tree.
#[derive(Clone, Copy, Debug)]
pub struct ObjectView<'a> {
    /// The object.
    pub node: &'a Node,
    /// The source it was seen in, when there are several.
    pub source: &'a str,
    /// Where it stands in its document: an RFC 6901 pointer. Several YAML documents in one file
    /// count as an array.
    pub pointer: &'a str,
    kind: &'a str,
}

impl<'a> ObjectView<'a> {
    /// An object that was taken out of its document.
    pub fn of(node: &'a Node, kind: &'a str, pointer: &'a str, source: &'a str) -> Self {
        Self {
            node,
            source,
            pointer,
            kind,
        }
    }

    /// `Pod`, `VirtualService`, …
    pub fn kind(self) -> &'a str {
        self.kind
    }

    /// Whether it is of a kind.
    pub fn is(self, kind: Kind) -> bool {
        self.kind == kind.singular() && Kind::of(self.kind, self.group()) == Some(kind)
    }

    /// `v1`, `networking.istio.io/v1`, …
    pub fn api_version(self) -> &'a str {
        self.node.str_at("apiVersion").unwrap_or_default()
    }

    /// The API group; empty for core kinds.
    pub fn group(self) -> &'a str {
        self.api_version()
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// `metadata.name`
    pub fn name(self) -> &'a str {
        self.metadata("name")
    }

    /// `metadata.namespace`; empty for cluster-scoped kinds.
    pub fn namespace(self) -> &'a str {
        self.metadata("namespace")
    }

    fn metadata(self, key: &str) -> &'a str {
        self.node
            .at(["metadata", key])
            .and_then(Node::str)
            .unwrap_or_default()
    }
}

/// Visits every object of the Snapshot, document by document; what cannot be read is returned.
pub fn each(snapshot: &Snapshot, mut visit: impl FnMut(ObjectView<'_>)) -> Vec<Problem> {
    each_with_id(snapshot, |_, object| visit(object))
}

/// Like [`each`], with the document an object stands in.
pub fn each_with_id(
    snapshot: &Snapshot,
    mut visit: impl FnMut(&DocId, ObjectView<'_>),
) -> Vec<Problem> {
    each_document(snapshot, |id, doc| {
        let (source, _) = id.split();
        let faults = each_in(&doc, &mut |object| {
            visit(id, ObjectView { source, ..object });
        });
        faults.iter().map(|fault| doc.problem(fault)).collect()
    })
}

/// Reads the documents that hold objects one by one. What is wrong with one is returned, and noted
/// in the Snapshot: nothing is then concluded from what the document does not say.
fn each_document(
    snapshot: &Snapshot,
    mut read: impl FnMut(&DocId, Document) -> Vec<Problem>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut left = snapshot.max_memory();
    for id in snapshot.ids().filter(|id| id.shape() == Shape::Objects) {
        let found = match snapshot.open(id) {
            Ok(doc) if weight(&doc.text) > left => {
                vec![too_large(&doc.origin, "would take", weight(&doc.text))]
            }
            Ok(doc) => {
                left -= weight(&doc.text);
                let mut found: Vec<Problem> = doc.problem.clone().into_iter().collect();
                found.extend(listed::problem(&doc));
                found.extend(read(id, doc));
                found
            }
            Err(problem) => vec![problem],
        };
        for problem in &found {
            snapshot.note_damage(id, problem);
        }
        problems.extend(found);
    }
    problems
}

/// How much memory the trees of a text take, at most: what its values and names take, and the text
/// itself.
fn weight(text: &str) -> u64 {
    /// A member with its value, with what is reserved beside it while it is read.
    const VALUE: u64 = 112;
    let is_sign = |b: &&u8| matches!(**b, b',' | b':' | b'[' | b'{' | b'\n');
    let signs = if text.len() < 1 << 16 {
        // Too small to matter one by one, and there may be many.
        text.len() / 8
    } else {
        text.as_bytes().iter().filter(is_sign).count()
    };
    text.len() as u64 + VALUE * signs as u64
}

/// An object, taken out of its document.
#[derive(Debug)]
pub struct PlacedObject {
    /// The object.
    pub node: Node,
    /// `Pod`, `VirtualService`, …
    pub kind: Text,
    /// Where it stands in its document.
    pub pointer: Box<str>,
}

/// Takes every object out of the Snapshot, document by document, and gives what cannot be read. The
/// parts of a YAML file are read on several threads.
pub fn take_all(
    snapshot: &Snapshot,
    threads: usize,
    mut take: impl FnMut(&DocId, PlacedObject),
) -> Vec<Problem> {
    each_document(snapshot, |id, doc| {
        let mut take = |object| take(id, object);
        if yaml::is_json(&doc.text) {
            take_json(&doc, &mut take)
        } else {
            take_yaml(doc, threads, &mut take)
        }
    })
}

fn take_json(doc: &Document, take: &mut dyn FnMut(PlacedObject)) -> Vec<Problem> {
    let faults = each_json(&doc.text, &mut |object| {
        take(PlacedObject {
            node: object.node.clone(),
            kind: object.kind.into(),
            pointer: object.pointer.into(),
        });
    });
    faults.iter().map(|fault| doc.problem(fault)).collect()
}

fn take_yaml(doc: Document, threads: usize, take: &mut dyn FnMut(PlacedObject)) -> Vec<Problem> {
    let streams = load(&doc.text, threads);
    let mut problems = Vec::new();
    let mut count = 0;
    for stream in &streams {
        count += stream.documents.len();
        for fault in &stream.problems {
            problems.push(doc.problem(fault));
        }
    }
    // A large text is gone before there is more of its objects than their trees.
    drop(doc);

    let documents = streams.into_iter().flat_map(|stream| stream.documents);
    for (number, node) in documents.enumerate() {
        // Several documents in one file count as an array.
        let at = if count == 1 {
            String::new()
        } else {
            format!("/{number}")
        };
        take_node(node, &at, take);
    }
    problems
}

/// Loads the documents of a YAML text, some at a time.
fn load(text: &str, threads: usize) -> Vec<YamlStream> {
    /// Small enough that all threads have work to the end, large enough that they find the same
    /// names again.
    const PARTS: usize = 256;
    let parts = yaml::split(text);
    let chunks: Vec<&[StreamPart<'_>]> = parts.chunks(PARTS).collect();
    parallel::each(&chunks, threads, |parts| load_parts(parts))
}

fn load_parts(parts: &[StreamPart<'_>]) -> YamlStream {
    let mut scalars = Scalars::default();
    let mut all = YamlStream::default();
    for part in parts {
        let stream = part.load(&mut scalars);
        all.documents.extend(stream.documents);
        all.problems.extend(stream.problems);
    }
    all
}

fn take_node(node: Node, at: &str, take: &mut dyn FnMut(PlacedObject)) {
    let kind = node.str_at("kind").unwrap_or_default().to_owned();
    let is_list = kind.ends_with("List") && node.get("items").is_some();
    let (items, list_kind, folder) = match node.value {
        Value::Object(members) if is_list => {
            let mut members = members.into_iter();
            let items = members.find(|member| &*member.key == "items");
            (items.map(|member| member.value.value), kind, "/items")
        }
        Value::Array(items) => (Some(Value::Array(items)), String::new(), ""),
        value => return take_one(Node { value, ..node }, "", at, take),
    };
    let Some(Value::Array(items)) = items else {
        return;
    };
    for (i, item) in items.into_iter().enumerate() {
        take_one(item, &list_kind, &format!("{at}{folder}/{i}"), take);
    }
}

fn take_one(node: Node, list_kind: &str, pointer: &str, take: &mut dyn FnMut(PlacedObject)) {
    // The kind's own text is shared; one that is made is not.
    let kind = match node.get("kind").and_then(Node::text) {
        Some(kind) => kind,
        None => kind_of(&node, list_kind).into(),
    };
    if !kind.is_empty() {
        take(PlacedObject {
            node,
            kind,
            pointer: pointer.into(),
        });
    }
}

/// Visits the objects of one document.
pub fn each_in(doc: &Document, visit: &mut dyn FnMut(ObjectView<'_>)) -> Vec<TextFault> {
    if yaml::is_json(&doc.text) {
        return each_json(&doc.text, visit);
    }
    let stream = yaml::load(&doc.text);
    match &stream.documents[..] {
        [only] => each_node(only, "", visit),
        several => {
            for (i, node) in several.iter().enumerate() {
                each_node(node, &format!("/{i}"), visit);
            }
        }
    }
    stream.problems
}

/// A list of thousands of pods is read one by one; no tree of the whole is built.
fn each_json(text: &str, visit: &mut dyn FnMut(ObjectView<'_>)) -> Vec<TextFault> {
    let root = match Raw::of(text) {
        Ok(root) => root,
        Err(fault) => return vec![fault],
    };
    let Some(items) = root.get("items") else {
        return match Node::from_json(root) {
            Ok(node) => {
                each_node(&node, "", visit);
                Vec::new()
            }
            Err(fault) => vec![fault],
        };
    };
    let list_kind = root.string_at("kind").unwrap_or_default();
    let mut faults = Vec::new();
    let mut names = Names::default();
    let mut elements = items.elements();
    for (i, item) in elements.by_ref().enumerate() {
        match Node::from_json_with(item, &mut names) {
            Ok(node) if kind_of(&node, &list_kind).is_empty() => {
                let what = format!("item {i} of the list is no object with a `kind`");
                faults.push(TextFault::new(item.offset(), what));
            }
            Ok(node) => visit_one(&node, &list_kind, &format!("/items/{i}"), visit),
            Err(fault) => faults.push(fault),
        }
    }
    faults.extend(elements.fault().cloned());
    faults
}

/// Visits the object in a tree, or those of the list it is.
pub fn each_under(node: &Node, visit: &mut dyn FnMut(ObjectView<'_>)) {
    each_node(node, "", visit);
}

fn each_node(node: &Node, at: &str, visit: &mut dyn FnMut(ObjectView<'_>)) {
    let kind = node.str_at("kind").unwrap_or_default();
    let (items, list_kind, folder) = match node.get("items") {
        Some(items) if kind.ends_with("List") => (items.items(), kind, "/items"),
        _ if node.items().is_empty() => return visit_one(node, "", at, visit),
        _ => (node.items(), "", ""),
    };
    for (i, item) in items.iter().enumerate() {
        visit_one(item, list_kind, &format!("{at}{folder}/{i}"), visit);
    }
}

/// The items of a typed list (`PodList`) need not repeat their kind.
fn kind_of<'n>(node: &'n Node, list_kind: &'n str) -> &'n str {
    node.str_at("kind")
        .or_else(|| list_kind.strip_suffix("List"))
        .unwrap_or_default()
}

fn visit_one(node: &Node, list_kind: &str, pointer: &str, visit: &mut dyn FnMut(ObjectView<'_>)) {
    let kind = kind_of(node, list_kind);
    if !kind.is_empty() {
        visit(ObjectView {
            node,
            kind,
            source: "",
            pointer,
        });
    }
}
