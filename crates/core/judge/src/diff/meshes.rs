//! Two captures of a mesh compared: objects, proxies workload by workload, and what becomes of
//! requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshladder_capture::Kind;
use meshladder_capture::envoy::logging::{ComponentLevel, LogLevels};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use meshladder_mesh::host::covers;
use meshladder_mesh::{Mesh, ObjectRef, PodFacts};
use meshladder_text::tree::Node;

use super::names::CommonNames;
use super::proxy_changes::ProxyChanges;
use super::{ChangeKind, Diff, DiffChange, DiffEdit, ProxySide, fate, objects, proxies};

/// One capture.
pub(super) struct MeshCapture<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) mesh: &'s Mesh,
    names: Arc<CommonNames>,
    /// The proxies of each workload, in the order of their names.
    pub(super) proxies: BTreeMap<ObjectRef, Vec<(ProxyRef, &'s DocId)>>,
}

/// How two captures of a mesh differ.
pub fn meshes(a: (&Snapshot, &Mesh), b: (&Snapshot, &Mesh), names: (&str, &str)) -> Diff {
    let (left, right) = (MeshCapture::of(a), MeshCapture::of(b));
    let mut diff = Diff {
        a: names.0.to_owned(),
        b: names.1.to_owned(),
        ..Diff::default()
    };
    let sides = [&left, &right].map(|capture| objects::CaptureSide {
        snapshot: capture.snapshot,
        mesh: capture.mesh,
        names: &capture.names,
    });
    let mut unknown = BTreeSet::new();
    let (differing, compared) =
        objects::compare(&sides[0], &sides[1], &mut diff.noise, &mut unknown);
    diff.unknown.extend(unknown);
    let changed: BTreeSet<ObjectRef> = differing
        .iter()
        .flat_map(|change| change.objects.clone())
        .collect();
    diff.changes = differing;
    diff.compared = compared;
    let mut shown = ProxyChanges::default();
    for (workload, old) in &left.proxies {
        let Some(new) = right.proxies.get(workload) else {
            diff.unknown.push(format!(
                "the proxies of {workload}: only A has dumps of them"
            ));
            continue;
        };
        for ((proxy_a, doc_a), (proxy_b, doc_b)) in old.iter().zip(new) {
            log_levels(&left, proxy_a, &right, proxy_b, workload, &mut diff);
            match compare(left.open(doc_a, proxy_a), right.open(doc_b, proxy_b)) {
                Ok(one) => {
                    let on = format!("{}/{}", workload.namespace, workload.name);
                    shown.add(one, &on, &mut diff, |change| {
                        blame(change, &changed, &right, proxy_b);
                    });
                }
                Err(why) => diff.unknown.push(why),
            }
        }
    }
    let only_b = right
        .proxies
        .keys()
        .filter(|workload| !left.proxies.contains_key(*workload));
    diff.unknown.extend(
        only_b.map(|workload| format!("the proxies of {workload}: only B has dumps of them")),
    );
    diff.changes.extend(shown.changes);
    diff.fates = fate::changes(&left, &right);
    diff
}

/// A dump that was read for the comparison.
struct ProxyDump {
    name: String,
    document: Document,
    names: Arc<CommonNames>,
}

impl ProxyDump {
    fn side(&self) -> ProxySide<'_> {
        ProxySide {
            name: self.name.clone(),
            doc: self.document.id.clone(),
            text: &self.document.text,
            names: Arc::clone(&self.names),
            is_same_mesh: false,
            is_istiods: false,
        }
    }
}

fn compare(a: Result<ProxyDump, String>, b: Result<ProxyDump, String>) -> Result<Diff, String> {
    proxies(&a?.side(), &b?.side())
}

impl<'s> MeshCapture<'s> {
    fn of((snapshot, mesh): (&'s Snapshot, &'s Mesh)) -> Self {
        let mut proxies: BTreeMap<ObjectRef, Vec<_>> = BTreeMap::new();
        for (proxy, doc) in snapshot.proxies_with(Shape::ConfigDump) {
            let pod = mesh.pod(&proxy.namespace, &proxy.pod);
            let own = || ObjectRef::of(Kind::Pod, &proxy.namespace, &proxy.pod);
            proxies
                .entry(pod.map_or_else(own, PodFacts::workload))
                .or_default()
                .push((proxy, doc));
        }
        Self {
            snapshot,
            mesh,
            names: Arc::new(CommonNames::of_mesh(mesh)),
            proxies,
        }
    }

    fn open(&self, doc: &DocId, proxy: &ProxyRef) -> Result<ProxyDump, String> {
        let document = self
            .snapshot
            .open(doc)
            .map_err(|problem| problem.to_string())?;
        Ok(ProxyDump {
            name: proxy.to_string(),
            document,
            names: Arc::clone(&self.names),
        })
    }
}

/// What differs between the captures comes first; when nothing of what made the thing differs, the
/// one object that does and has a say in this proxy is named.
fn blame(
    change: &mut DiffChange,
    changed: &BTreeSet<ObjectRef>,
    b: &MeshCapture<'_>,
    proxy: &ProxyRef,
) {
    let is_about = |object: &&ObjectRef| {
        change.objects.contains(object)
            || host_of(change).is_some_and(|host| is_for(object, host, b.mesh))
    };
    let own: Vec<ObjectRef> = changed.iter().filter(is_about).cloned().collect();
    if !own.is_empty() {
        change.objects = own;
        return;
    }
    let pod = ObjectRef::of(Kind::Pod, &proxy.namespace, &proxy.pod);
    let mut able = changed.iter().filter(|object| b.mesh.reaches(object, &pod));
    if let (Some(only), None) = (able.next(), able.next()) {
        change.objects = vec![only.clone()];
    }
}

/// The host that a cluster or its endpoints are for.
fn host_of(change: &DiffChange) -> Option<&str> {
    let is_of_host = change.kind == "cluster" || change.kind == "endpoints";
    ClusterName::parse(&change.name)
        .filter(|_| is_of_host)
        .map(|name| name.host)
}

/// Whether an object has something to say about a host.
fn is_for(object: &ObjectRef, host: &str, mesh: &Mesh) -> bool {
    let Some(stored) = mesh.objects.find(object) else {
        return false;
    };
    let one = stored.spec_at(["host"]).and_then(Node::str);
    let is = |own: &str| covers(&mesh.domain.fqdn(own, &object.namespace), host);
    match object.kind.as_str() {
        "DestinationRule" => one.is_some_and(is),
        "ServiceEntry" => stored.spec_strings("hosts").any(is),
        "Service" => mesh.domain.service_name(host) == Some((&object.name, &object.namespace)),
        _ => false,
    }
}

/// Log levels that were changed and not set back.
fn log_levels(
    a: &MeshCapture<'_>,
    old: &ProxyRef,
    b: &MeshCapture<'_>,
    new: &ProxyRef,
    workload: &ObjectRef,
    diff: &mut Diff,
) {
    let read = |capture: &MeshCapture<'_>, proxy: &ProxyRef| {
        let (_, id) = capture
            .snapshot
            .proxies_with(Shape::Logging)
            .find(|(other, _)| other == proxy)?;
        Some((
            id.clone(),
            LogLevels::parse(&capture.snapshot.open(id).ok()?.text)?.0,
        ))
    };
    let (Some((doc_a, left)), Some((doc_b, right))) = (read(a, old), read(b, new)) else {
        return;
    };
    let differs = |(name, level): &(&String, &ComponentLevel)| {
        right.get(*name).is_some_and(|other| other != *level)
    };
    let edits: Vec<DiffEdit> = left
        .iter()
        .filter(differs)
        .map(|(name, level)| level_edit(name, *level, right[name]))
        .collect();
    if edits.is_empty() {
        return;
    }
    let means = format!("{} of Envoy's components log at another level", edits.len());
    diff.changes.push(DiffChange {
        what: ChangeKind::Changed,
        kind: "log levels".to_owned(),
        name: new.to_string(),
        means: Some(means),
        objects: vec![workload.clone()],
        edits,
        on: vec![format!("{}/{}", workload.namespace, workload.name)],
        docs: (Some(doc_a), Some(doc_b)),
    });
}

fn level_edit(name: &str, old: ComponentLevel, new: ComponentLevel) -> DiffEdit {
    let (old, new) = (Some(old.to_string()), Some(new.to_string()));
    DiffEdit {
        what: ChangeKind::Changed,
        path: format!("/{name}"),
        old,
        new,
        at: (None, None),
    }
}
