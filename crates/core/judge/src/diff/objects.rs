//! The objects of two captures compared: what people wrote, without what the cluster adds to it.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_mesh::services::is_ready;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::text::Text;
use meshladder_text::tree::{Node, Value};

use super::names::CommonNames;
use super::tree::Compare;
use super::{ChangeKind, DiffChange, DiffEdit, Noise};

/// Kinds that the cluster writes by itself; what matters of them shows elsewhere.
const DERIVED: [&str; 9] = [
    "Event",
    "EndpointSlice",
    "Endpoints",
    "ReplicaSet",
    "ControllerRevision",
    "Lease",
    "Node",
    "Pod",
    "PodMetrics",
];

/// Below `metadata`: what the API server adds.
const METADATA: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "ownerReferences",
    "generateName",
];

/// Labels and annotations that tools add.
const MARKS: [&str; 6] = [
    "control-plane.alpha.kubernetes.io/leader",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "deployment.kubernetes.io/revision",
    "pod-template-hash",
    "controller-revision-hash",
];

/// Below `spec` of a Service: what the cluster gives it.
const SERVICE: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// ConfigMaps that hold nothing but a cluster's own certificate.
const ROOTS: [&str; 3] = ["istio-ca-root-cert", "kube-root-ca.crt", "istio-ca-crl"];

/// One side of the comparison.
pub(super) struct CaptureSide<'m> {
    pub(super) snapshot: &'m Snapshot,
    pub(super) mesh: &'m Mesh,
    pub(super) names: &'m CommonNames,
}

/// The differences, by object.
pub(super) fn compare(
    a: &CaptureSide<'_>,
    b: &CaptureSide<'_>,
    noise: &mut Noise,
    unknown: &mut BTreeSet<String>,
) -> (Vec<DiffChange>, usize) {
    let (left, right) = (written(a.mesh), written(b.mesh));
    let ids: BTreeSet<&Id> = left.keys().chain(right.keys()).collect();
    let mut changes = Vec::new();
    for id in &ids {
        match (left.get(*id), right.get(*id)) {
            (Some(old), Some(new)) => changes.extend(both(old, new, a, b, noise)),
            (Some(old), None) => changes.extend(
                b.knows(&need(old), "B", unknown)
                    .then(|| alone(ChangeKind::Removed, old)),
            ),
            (None, Some(new)) => changes.extend(
                a.knows(&need(new), "A", unknown)
                    .then(|| alone(ChangeKind::Added, new)),
            ),
            (None, None) => {}
        }
    }
    let pods_read = Need::Objects(Kind::Pod);
    if a.knows(&pods_read, "A", unknown) && b.knows(&pods_read, "B", unknown) {
        changes.extend(pods(a, b));
    }
    (changes, ids.len())
}

/// The objects that it is one of: a kind that is not in the table stands where its file says.
fn need(object: &Object) -> Need {
    let (_, path) = object.doc.split();
    object
        .kind()
        .map_or_else(|| Need::of_path(path), Need::Objects)
}

impl CaptureSide<'_> {
    /// Whether an object that is not here does not exist: what could not be read is noted instead.
    fn knows(&self, need: &Need, side: &str, unknown: &mut BTreeSet<String>) -> bool {
        let coverage = self.snapshot.coverage(need);
        let is_bundle = self
            .snapshot
            .sources()
            .any(|(_, meta)| meta.is_some_and(|meta| meta.form == "bundle"));
        let knows = match coverage {
            Coverage::Complete => true,
            Coverage::NotAsked => !is_bundle,
            Coverage::Partial(_) | Coverage::Lost(_) | Coverage::Denied(_) => false,
        };
        if !knows {
            unknown.insert(format!("on {side} {}", coverage.lack(need)));
        }
        knows
    }
}

/// Kind, group, namespace, name.
type Id = (Text, Text, Text, Text);

fn written(mesh: &Mesh) -> BTreeMap<Id, &Object> {
    let is_written = |object: &&Object| {
        let ObjectRef { kind, name, .. } = &object.id;
        let is_root = kind == "ConfigMap" && ROOTS.contains(&name.as_str());
        !is_root && !DERIVED.contains(&kind.as_str())
    };
    let id = |object: &Object| {
        let ObjectRef {
            kind,
            namespace,
            name,
        } = object.id.clone();
        (kind, object.group.clone(), namespace, name)
    };
    mesh.objects
        .all()
        .filter(is_written)
        .map(|object| (id(object), object))
        .collect()
}

fn both(
    old: &Object,
    new: &Object,
    a: &CaptureSide<'_>,
    b: &CaptureSide<'_>,
    noise: &mut Noise,
) -> Option<DiffChange> {
    if old.node.value == new.node.value {
        return None;
    }
    let mut edits = Vec::new();
    let (left, right) = (essence(&old.node), essence(&new.node));
    Compare {
        a: a.names,
        b: b.names,
        noise: &mut *noise,
    }
    .nodes("", &left, &right, &mut edits);
    if edits.is_empty() {
        noise.count("what the cluster adds to objects", &old.id.to_string());
        return None;
    }
    let docs = (Some(old.doc.clone()), Some(new.doc.clone()));
    Some(DiffChange {
        edits,
        docs,
        ..change(ChangeKind::Changed, &old.id)
    })
}

fn alone(what: ChangeKind, object: &Object) -> DiffChange {
    let node = without_its_name(essence(&object.node));
    let doc = Some(object.doc.clone());
    let (edit, docs) = match what {
        ChangeKind::Added => (DiffEdit::new(what, "", None, Some(&node)), (None, doc)),
        _ => (DiffEdit::new(what, "", Some(&node), None), (doc, None)),
    };
    DiffChange {
        edits: vec![edit],
        docs,
        ..change(what, &object.id)
    }
}

fn change(what: ChangeKind, id: &ObjectRef) -> DiffChange {
    let place = if id.namespace.is_empty() {
        id.name.to_string()
    } else {
        format!("{}/{}", id.namespace, id.name)
    };
    DiffChange {
        what,
        kind: id.kind.to_string(),
        name: place,
        means: None,
        objects: vec![id.clone()],
        edits: Vec::new(),
        on: Vec::new(),
        docs: (None, None),
    }
}

/// An object as its author wrote it.
fn essence(object: &Node) -> Node {
    let mut object = object.clone();
    let is_service = object.str_at("kind") == Some("Service");
    drop_members(&mut object, &["status", "apiVersion"]);
    let Value::Object(members) = &mut object.value else {
        return object;
    };
    for member in members {
        match &*member.key {
            "metadata" => drop_members(&mut member.value, &METADATA),
            "spec" if is_service => {
                drop_members(&mut member.value, &SERVICE);
                each_mut(&mut member.value, &mut |node| {
                    drop_members(node, &["nodePort"]);
                });
            }
            _ => {}
        }
        each_mut(&mut member.value, &mut |node| drop_members(node, &MARKS));
    }
    object
}

/// The change says which object it is.
fn without_its_name(mut object: Node) -> Node {
    drop_members(&mut object, &["kind"]);
    if let Value::Object(members) = &mut object.value {
        for member in members
            .iter_mut()
            .filter(|member| &*member.key == "metadata")
        {
            drop_members(&mut member.value, &["name", "namespace"]);
            member
                .value
                .retain_members(|member| !member.value.members().is_empty());
        }
    }
    object
        .retain_members(|member| &*member.key != "metadata" || !member.value.members().is_empty());
    object
}

fn drop_members(node: &mut Node, keys: &[&str]) {
    node.retain_members(|member| !keys.contains(&&*member.key));
}

fn each_mut(node: &mut Node, change: &mut impl FnMut(&mut Node)) {
    change(node);
    match &mut node.value {
        Value::Object(members) => members
            .iter_mut()
            .for_each(|member| each_mut(&mut member.value, change)),
        Value::Array(items) => items.iter_mut().for_each(|item| each_mut(item, change)),
        _ => {}
    }
}

/// The pods of each workload: how many there are, ready, with a proxy.
fn pods(a: &CaptureSide<'_>, b: &CaptureSide<'_>) -> Vec<DiffChange> {
    let (left, right) = (counts(a.mesh), counts(b.mesh));
    let workloads: BTreeSet<&ObjectRef> = left.keys().chain(right.keys()).collect();
    let none = PodCounts::default();
    let differs = |workload: &&ObjectRef| {
        left.get(*workload).unwrap_or(&none) != right.get(*workload).unwrap_or(&none)
    };
    let tell = |workload: &ObjectRef| {
        let (old, new) = (
            left.get(workload).unwrap_or(&none),
            right.get(workload).unwrap_or(&none),
        );
        let (old, new) = (old.in_words(), new.in_words());
        let means = Some(format!("A has {old}, B has {new}"));
        let edit = DiffEdit {
            what: ChangeKind::Changed,
            path: "/pods".into(),
            old: Some(old),
            new: Some(new),
            at: (None, None),
        };
        DiffChange {
            means,
            edits: vec![edit],
            ..change(ChangeKind::Changed, workload)
        }
    };
    workloads.into_iter().filter(differs).map(tell).collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct PodCounts {
    all: usize,
    ready: usize,
    proxies: usize,
}

impl PodCounts {
    fn in_words(&self) -> String {
        let pods = if self.all == 1 { "pod" } else { "pods" };
        format!(
            "{} {pods}, {} ready, {} with a proxy",
            self.all, self.ready, self.proxies
        )
    }
}

fn counts(mesh: &Mesh) -> BTreeMap<ObjectRef, PodCounts> {
    let mut counts: BTreeMap<ObjectRef, PodCounts> = BTreeMap::new();
    for pod in mesh
        .pods
        .iter()
        .filter(|pod| !pod.owner.starts_with("Job/"))
    {
        let stored = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        let count = counts.entry(pod.workload()).or_default();
        count.all += 1;
        count.ready += usize::from(stored.is_some_and(is_ready));
        count.proxies += usize::from(pod.has_proxy);
    }
    counts
}
