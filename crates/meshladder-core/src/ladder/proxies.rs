//! Which proxies a climb visits, and the visit itself.

use std::collections::BTreeSet;

use super::Scope;
use crate::mesh::Mesh;
use crate::sim::trace::Trace;
use crate::snapshot::{ProxyRef, Snapshot};

/// The proxies to visit: all of them, or for a request those on its way and its servers' siblings.
pub(super) fn wanted(snapshot: &Snapshot, mesh: &Mesh, scope: &Scope, trace: Option<&Trace>) -> Vec<ProxyRef> {
    let all: BTreeSet<ProxyRef> = snapshot.ids().filter_map(crate::snapshot::DocId::proxy).collect();
    let (Scope::Request(question), Some(trace)) = (scope, trace) else { return all.into_iter().collect() };
    let on_path: BTreeSet<(String, String)> = super::asked::pods_on_path(mesh, question, trace)
        .map(|pod| (pod.namespace.clone(), pod.name.clone()))
        .chain(
            trace
                .hops
                .iter()
                .filter_map(|hop| hop.proxy.split_once('/'))
                .map(|(ns, pod)| (ns.to_owned(), pod.to_owned())),
        )
        .collect();
    all.into_iter().filter(|id| on_path.contains(&(id.namespace.clone(), id.pod.clone()))).collect()
}
