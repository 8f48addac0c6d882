//! What `check` is asked about: a workload or any object.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_judge::ladder::Scope;
use meshladder_mesh::{Mesh, ObjectRef, PodFacts};
use meshladder_text::near::nearest;

use crate::exit::{Failure, UNREADABLE};

/// What a bare name may be, in this order.
const WORKLOADS: [Kind; 8] = [
    Kind::Pod,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::ReplicaSet,
    Kind::Job,
    Kind::CronJob,
    Kind::ReplicationController,
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
    let kinds = match kind {
        Some(kind) => vec![kind],
        None => WORKLOADS.map(Kind::singular).to_vec(),
    };
    let object = find(&kinds, name, namespace, mesh);
    let refused = |kind: &&str| {
        let kind = Kind::parse(kind).map(Need::Objects);
        kind.is_some_and(|need| matches!(snapshot.coverage(&need), Coverage::Denied(_)))
    };
    let unread = || {
        let kind = kinds.iter().find(|kind| refused(kind))?;
        Some(ObjectRef::new(kind, namespace.unwrap_or("default"), name))
    };
    let object = object
        .or_else(unread)
        .ok_or_else(|| not_found(text, namespace, mesh))?;
    if !object.is_any(&WORKLOADS) {
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
    if object.is(Kind::Pod) {
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

/// What the kind that a word means is called; one that is not in the table may be written in the
/// plural too.
fn kind<'a>(word: &str, mesh: &'a Mesh) -> Option<&'a str> {
    let word = word.split('.').next().unwrap_or(word).to_ascii_lowercase();
    if let Some(kind) = Kind::parse(&word) {
        return Some(kind.singular());
    }
    let is = |kind: &&str| {
        let kind = kind.to_ascii_lowercase();
        word == kind || word == format!("{kind}s") || word == format!("{kind}es")
    };
    mesh.objects.kinds().find(is)
}

fn find(kinds: &[&str], name: &str, namespace: Option<&str>, mesh: &Mesh) -> Option<ObjectRef> {
    let here = |id: &ObjectRef| {
        id.name == name && namespace.is_none_or(|ns| id.namespace == ns || id.namespace.is_empty())
    };
    let stored = kinds
        .iter()
        .find_map(|kind| mesh.objects.called(kind).map(|o| &o.id).find(|id| here(id)));
    // A capture may hold pods and not what made them.
    let by_pods = || {
        let workloads = mesh.pods.iter().map(PodFacts::workload);
        workloads
            .filter(|id| kinds.contains(&id.kind.as_str()))
            .find(here)
    };
    stored.cloned().or_else(by_pods)
}

/// A namespace that is there. Of one that is not, nothing can be said to be fine.
pub(super) fn namespace(name: &str, snapshot: &Snapshot, mesh: &Mesh) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    for object in mesh.objects.all() {
        if object.id.is(Kind::Namespace) {
            known.insert(object.id.name.as_str());
        }
        known.insert(object.id.namespace.as_str());
    }
    if known.contains(name) {
        return Ok(());
    }
    let failure = Failure::new(
        UNREADABLE,
        format!("no namespace `{name}` in what was read"),
    );
    let coverage = snapshot.coverage(&Need::Objects(Kind::Namespace));
    Err(match (nearest(name, known.into_iter()), coverage.why()) {
        (Some(near), _) => failure.hint(format!("did you mean {near}?")),
        (None, Some(why)) => failure.hint(format!("not all namespaces were read: {why}")),
        (None, None) => failure,
    })
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
        .filter(|object| !object.id.is(Kind::Event) && object.id.name.contains(name))
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
