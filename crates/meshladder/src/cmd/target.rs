//! What `check` is asked about: a workload or any object.

use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_judge::ladder::Scope;
use meshladder_mesh::{Mesh, ObjectRef, PodFacts, path_of_kind};

use crate::exit::{Failure, UNREADABLE};

/// Kinds that own pods.
const WORKLOADS: [&str; 8] = [
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "ReplicationController",
];

/// What `kubectl` abbreviates.
const SHORT: [(&str, &str); 16] = [
    ("po", "Pod"),
    ("deploy", "Deployment"),
    ("sts", "StatefulSet"),
    ("ds", "DaemonSet"),
    ("rs", "ReplicaSet"),
    ("svc", "Service"),
    ("ns", "Namespace"),
    ("netpol", "NetworkPolicy"),
    ("vs", "VirtualService"),
    ("dr", "DestinationRule"),
    ("se", "ServiceEntry"),
    ("gw", "Gateway"),
    ("ap", "AuthorizationPolicy"),
    ("pa", "PeerAuthentication"),
    ("ra", "RequestAuthentication"),
    ("cm", "ConfigMap"),
];

/// Reads `kind/name`, `namespace/name`, `name.namespace` or a bare name. An object of a kind that
/// could not be read is taken to be there: the ladder then says what is missing.
pub(super) fn scope(
    text: &str,
    namespace: Option<&str>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Result<Scope, Failure> {
    let (kind, name, own) = match text.split_once('/') {
        Some((word, name)) => match kind(word, mesh) {
            Some(kind) => (Some(kind), name, None),
            None => (None, name, Some(word)),
        },
        None => match text.rsplit_once('.') {
            Some((name, namespace)) => (None, name, Some(namespace)),
            None => (None, text, None),
        },
    };
    let namespace = own.or(namespace);
    let found = |kinds: &[&str]| find(kinds, name, namespace, mesh);
    let object = match &kind {
        Some(kind) => found(&[kind]),
        None => found(&WORKLOADS),
    };
    let refused = |kind: &str| {
        matches!(
            snapshot.coverage(&Need::of_path(&path_of_kind(kind))),
            Coverage::Denied(_)
        )
    };
    let unread = || {
        let kinds = kind
            .as_deref()
            .map_or_else(|| WORKLOADS.to_vec(), |kind| vec![kind]);
        let kind = kinds.into_iter().find(|kind| refused(kind))?;
        Some(ObjectRef::new(kind, namespace.unwrap_or("default"), name))
    };
    let object = object
        .or_else(unread)
        .ok_or_else(|| not_found(text, namespace, mesh))?;
    if !WORKLOADS.contains(&object.kind.as_str()) {
        return Ok(Scope::Object(object));
    }
    let of = |pod: &&PodFacts| pod.reference() == object || pod.workload() == object;
    let mut pods: Vec<ObjectRef> = mesh
        .pods
        .iter()
        .filter(of)
        .map(PodFacts::reference)
        .collect();
    // What is wrong with a pod's workload is wrong with the pod.
    if object.kind == "Pod" {
        pods.extend(
            mesh.pod(&object.namespace, &object.name)
                .map(PodFacts::workload),
        );
    }
    Ok(Scope::Workload { object, pods })
}

/// Whether a word is a kind's.
pub(super) fn is_kind(word: &str, mesh: &Mesh) -> bool {
    kind(word, mesh).is_some()
}

/// The kind a word means: in full, in the plural, or as `kubectl` abbreviates it.
fn kind(word: &str, mesh: &Mesh) -> Option<String> {
    let word = word.split('.').next().unwrap_or(word).to_ascii_lowercase();
    if let Some((_, kind)) = SHORT.iter().find(|(short, _)| *short == word) {
        return Some((*kind).to_owned());
    }
    let is = |kind: &str| {
        let kind = kind.to_ascii_lowercase();
        let plural = kind
            .strip_suffix('y')
            .map_or(format!("{kind}s"), |stem| format!("{stem}ies"));
        kind == word || plural == word || format!("{kind}es") == word
    };
    let known = mesh
        .objects
        .kinds()
        .chain(WORKLOADS)
        .chain(SHORT.iter().map(|(_, kind)| *kind));
    known.filter(|kind| is(kind)).map(str::to_owned).next()
}

fn find(kinds: &[&str], name: &str, namespace: Option<&str>, mesh: &Mesh) -> Option<ObjectRef> {
    let here = |id: &ObjectRef| {
        id.name == name && namespace.is_none_or(|ns| id.namespace == ns || id.namespace.is_empty())
    };
    let stored = kinds.iter().find_map(|kind| {
        mesh.objects
            .of_kind(kind)
            .iter()
            .map(|o| &o.id)
            .find(|id| here(id))
    });
    // A capture may hold pods and not what made them.
    let by_pods = || {
        let workloads = mesh.pods.iter().map(PodFacts::workload);
        workloads
            .filter(|id| kinds.contains(&id.kind.as_str()))
            .find(here)
    };
    stored.cloned().or_else(by_pods)
}

fn not_found(text: &str, namespace: Option<&str>, mesh: &Mesh) -> Failure {
    let place = namespace
        .map(|ns| format!(" in namespace `{ns}`"))
        .unwrap_or_default();
    let text = text
        .split_once('/')
        .filter(|(before, _)| Some(*before) == namespace)
        .map_or(text, |(_, name)| name);
    let name = text
        .rsplit(['/'])
        .next()
        .unwrap_or(text)
        .split('.')
        .next()
        .unwrap_or(text);
    let similar: Vec<String> = mesh
        .objects
        .all()
        .filter(|object| object.id.kind != "Event" && object.id.name.contains(name))
        .take(3)
        .map(|object| {
            format!(
                "{}/{} -n {}",
                object.id.kind.to_lowercase(),
                object.id.name,
                object.id.namespace
            )
        })
        .collect();
    let failure = Failure::new(UNREADABLE, format!("no `{text}`{place} in what was read"));
    if similar.is_empty() {
        failure
    } else {
        failure.hint(format!("did you mean {}?", similar.join(" or ")))
    }
}
