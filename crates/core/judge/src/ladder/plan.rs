//! What to read next to answer a question. Who collects reads it and asks again, until there is
//! nothing more.

use std::collections::BTreeSet;

use super::{Scope, proxies};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{ProxyRef, Snapshot};
use meshladder_mesh::Mesh;

/// What is to be read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// These proxies and their logs.
    Proxies(Vec<ProxyRef>),
    /// Some proxies, of as many workloads as can be: the question is about none in particular.
    Sample,
    /// Nothing more.
    Nothing,
}

/// How many more pods one step of a request's way may add.
const STEP: usize = 20;

/// What to read next, given what was read and the proxies that were asked for already.
pub fn plan(snapshot: &Snapshot, mesh: &Mesh, scope: &Scope, asked: &BTreeSet<ProxyRef>) -> Plan {
    let is_new = |(namespace, name): &(String, String)| {
        !asked.iter().any(|proxy| proxy.is_of(namespace, name))
    };
    let pods: Vec<(String, String)> = match scope {
        Scope::Request(call) => proxies::on_path(snapshot, mesh, call)
            .into_iter()
            .filter(is_new)
            .take(STEP)
            .collect(),
        Scope::Workload { pods, .. } => pods
            .iter()
            .filter(|pod| pod.is(Kind::Pod))
            .map(|pod| (pod.namespace.to_string(), pod.name.to_string()))
            .filter(is_new)
            .collect(),
        Scope::Mesh | Scope::Namespace(_) | Scope::Object(_) => return Plan::Sample,
    };
    if pods.is_empty() {
        return Plan::Nothing;
    }
    Plan::Proxies(in_sources(snapshot, &pods))
}

/// The proxies of these pods in every cluster that was read: which of them has a pod is not known
/// where pods may not be listed.
fn in_sources(snapshot: &Snapshot, pods: &[(String, String)]) -> Vec<ProxyRef> {
    let mut proxies = Vec::new();
    for (source, _) in snapshot.sources() {
        for (namespace, pod) in pods {
            proxies.push(ProxyRef {
                source: source.to_owned(),
                namespace: namespace.clone(),
                pod: pod.clone(),
            });
        }
    }
    proxies
}
