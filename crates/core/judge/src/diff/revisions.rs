//! Two revisions of Istio in one mesh: what the proxies of the one are told, and those of the
//! other.
//!
//! Two proxies are only compared when they should be told the same: those of one workload that has
//! some of both revisions, or for want of that one of each kind (sidecar, gateway, waypoint),
//! without what is about the workload itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Document, ProxyRef, Shape, Snapshot};
use meshladder_mesh::injection::REVISION;
use meshladder_mesh::{Mesh, Object, ObjectRef, PodFacts};
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

use super::proxy_changes::ProxyChanges;
use super::{Diff, DiffChange, ProxySide, proxies};

/// Two proxies that stand for their revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The pod of the first revision.
    pub a: ObjectRef,
    /// The pod of the second.
    pub b: ObjectRef,
    /// Their workload; none when they are of two, for want of one that has both.
    pub workload: Option<ObjectRef>,
}

/// The proxies of a revision, by workload.
type Proxies<'m> = BTreeMap<ObjectRef, Vec<(&'m PodFacts, &'m Object)>>;

/// The revision whose injector made a pod's proxy. The annotation says what was done; a label of
/// that name is the user's wish, and may name a tag.
pub fn revision_of(pod: &Object) -> Option<&str> {
    let status = pod
        .annotation("sidecar.istio.io/status")
        .and_then(|text| Raw::of(text).ok());
    let told = status.and_then(|status| match status.get("revision")?.string()? {
        std::borrow::Cow::Borrowed(text) => Some(text),
        std::borrow::Cow::Owned(_) => None,
    });
    told.or_else(|| pod.annotation(REVISION))
        .or_else(|| pod.label(REVISION))
}

/// The proxies to compare, among the running ones that `has` lets in.
///
/// # Errors
/// When a revision has none, with those that there are.
pub fn pair_revisions(
    mesh: &Mesh,
    (a, b): (&str, &str),
    has: impl Fn(&PodFacts) -> bool,
) -> Result<Vec<Pair>, String> {
    let mut by_revision: BTreeMap<&str, Proxies<'_>> = BTreeMap::new();
    for pod in mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy && pod.running && has(pod))
    {
        let Some(stored) = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        let of = by_revision
            .entry(revision_of(stored).unwrap_or("default"))
            .or_default();
        of.entry(pod.workload()).or_default().push((pod, stored));
    }
    let of = |revision: &str| {
        by_revision.get(revision).ok_or_else(|| {
            let known: Vec<&str> = by_revision.keys().copied().collect();
            format!(
                "no proxy of revision `{revision}` in what was read; there are {}",
                known.join(", ")
            )
        })
    };
    let (left, right) = (of(a)?, of(b)?);
    let mut pairs: Vec<Pair> = Vec::new();
    for (workload, old) in left {
        if let Some(new) = right.get(workload) {
            let (a, b) = (old[0].0.reference(), new[0].0.reference());
            pairs.push(Pair {
                a,
                b,
                workload: Some(workload.clone()),
            });
        }
    }
    for kind in KINDS {
        let is_done = |pair: &Pair| {
            mesh.objects
                .find(&pair.a)
                .is_some_and(|pod| kind_of(pod) == kind)
        };
        if !pairs.iter().any(is_done) {
            pairs.extend(representatives(left, right, kind));
        }
    }
    if pairs.is_empty() {
        return Err(format!(
            "revisions `{a}` and `{b}` have no kind of proxy in common ({})",
            KINDS.join(", ")
        ));
    }
    Ok(pairs)
}

/// The kinds of proxy that are told a configuration of the same shape.
const KINDS: [&str; 3] = ["sidecar", "router", "waypoint"];

/// What a pod's proxy runs as: `proxy sidecar`, …
fn kind_of(pod: &Object) -> &str {
    let containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| pod.spec_list(list));
    let proxies = containers.filter(|container| container.str_at("name") == Some("istio-proxy"));
    let mut words = proxies
        .flat_map(|proxy| proxy.items_at("args"))
        .filter_map(Node::str);
    words
        .find(|word| KINDS.contains(word) || *word == "ztunnel")
        .unwrap_or(KINDS[0])
}

/// One proxy of a kind from each side; in one namespace if there is one that has both, since a
/// namespace has settings of its own.
fn representatives(a: &Proxies<'_>, b: &Proxies<'_>, kind: &str) -> Option<Pair> {
    let of_kind = |all: &Proxies<'_>| -> Vec<ObjectRef> {
        let pods = all
            .values()
            .flatten()
            .filter(|(_, stored)| kind_of(stored) == kind);
        pods.map(|(pod, _)| pod.reference()).collect()
    };
    let (left, right) = (of_kind(a), of_kind(b));
    let together = left
        .iter()
        .find_map(|a| Some((a, right.iter().find(|b| b.namespace == a.namespace)?)));
    let (a, b) = together.or_else(|| left.first().zip(right.first()))?;
    Some(Pair {
        a: a.clone(),
        b: b.clone(),
        workload: None,
    })
}

/// How the proxies of two revisions differ. What was compared with what is the second of the
/// results.
///
/// # Errors
/// When a revision has no proxy with a dump.
pub fn revisions(
    snapshot: &Snapshot,
    mesh: &Mesh,
    (a, b): (&str, &str),
) -> Result<(Diff, Vec<Pair>), String> {
    let dumps: BTreeMap<(String, String), ProxyRef> = snapshot
        .proxies_with(Shape::ConfigDump)
        .map(|(proxy, _)| ((proxy.namespace.clone(), proxy.pod.clone()), proxy))
        .collect();
    let find = |namespace: &str, pod: &str| dumps.get(&(namespace.to_owned(), pod.to_owned()));
    let pairs = pair_revisions(mesh, (a, b), |pod| {
        find(&pod.namespace, &pod.name).is_some()
    })?;
    let mut diff = Diff {
        a: format!("revision {a}"),
        b: format!("revision {b}"),
        ..Diff::default()
    };
    let mut shown = ProxyChanges::default();
    for pair in &pairs {
        let open = |pod: &ObjectRef| {
            let proxy =
                find(&pod.namespace, &pod.name).ok_or_else(|| format!("{pod} has no dump"))?;
            let id = snapshot
                .proxies_with(Shape::ConfigDump)
                .find(|(other, _)| other == proxy)
                .map(|(_, id)| id);
            let document = id.map(|id| snapshot.open(id).map_err(|problem| problem.to_string()));
            document
                .unwrap_or_else(|| Err(format!("{pod} has no dump")))
                .map(|document| (proxy.to_string(), document))
        };
        match open(&pair.a).and_then(|a| compared(&a, &open(&pair.b)?)) {
            Ok(one) => {
                let one = if pair.workload.is_some() {
                    one
                } else {
                    without_own(one)
                };
                shown.add(one, &pair.name(), &mut diff, |_| {});
            }
            Err(why) => diff.unknown.push(why),
        }
    }
    diff.changes = shown.changes;
    Ok((diff, pairs))
}

fn compared(a: &(String, Document), b: &(String, Document)) -> Result<Diff, String> {
    let side = |(name, document): &(String, Document)| (name.clone(), document.id.clone());
    let ((name_a, doc_a), (name_b, doc_b)) = (side(a), side(b));
    let of = |name, doc, text| ProxySide {
        name,
        doc,
        text,
        names: Arc::default(),
        is_same_mesh: true,
        is_istiods: false,
    };
    proxies(
        &of(name_a, doc_a, a.1.text.as_str()),
        &of(name_b, doc_b, b.1.text.as_str()),
    )
}

/// Two workloads are called by others in different ways: that is no matter of their revisions.
fn without_own(mut diff: Diff) -> Diff {
    let is_own = |change: &DiffChange| {
        change.name.contains("inbound|") || change.name.contains("virtualInbound")
    };
    let (own, rest): (Vec<_>, Vec<_>) = diff.changes.into_iter().partition(is_own);
    diff.changes = rest;
    for change in &own {
        diff.noise
            .count("what is about the workload itself", &change.name);
    }
    diff
}

impl Pair {
    /// The workload, or both pods.
    fn name(&self) -> String {
        match &self.workload {
            Some(workload) => format!("{}/{}", workload.namespace, workload.name),
            None => format!(
                "{}/{} and {}/{}",
                self.a.namespace, self.a.name, self.b.namespace, self.b.name
            ),
        }
    }
}
