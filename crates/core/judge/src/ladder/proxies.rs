//! Which proxies a question is about.

use std::collections::BTreeSet;

use super::Scope;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{ProxyRef, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::views::Pod;
use meshladder_sim::trace::Trace;
use meshladder_sim::walk::{self, Call, Caller};

/// The proxies to visit: all of them, or for a request those on its way and its servers' siblings.
pub(super) fn wanted(
    snapshot: &Snapshot,
    mesh: &Mesh,
    scope: &Scope,
    trace: Option<&Trace>,
) -> Vec<ProxyRef> {
    let all: BTreeSet<ProxyRef> = snapshot
        .ids()
        .filter_map(meshladder_capture::snapshot::DocId::proxy)
        .collect();
    let (Scope::Request(call), Some(trace)) = (scope, trace) else {
        return all.into_iter().collect();
    };
    let on_path = pods(mesh, call, trace);
    all.into_iter()
        .filter(|id| on_path.contains(&(id.namespace.clone(), id.pod.clone())))
        .collect()
}

/// The pods whose proxies a request may meet, as far as what was read tells: namespace and name.
pub(super) fn on_path(snapshot: &Snapshot, mesh: &Mesh, call: &Call) -> BTreeSet<(String, String)> {
    let trace = walk::trace(snapshot, mesh, call, false);
    let mut found = pods(mesh, call, &trace);
    found.extend(ambient(mesh, call, &trace));
    if call.from == Caller::Outside {
        let gateways = mesh
            .objects
            .called(Kind::Gateway.singular())
            .flat_map(|gateway| mesh.gateway_pods(gateway));
        found.extend(gateways.map(|pod| (pod.id.namespace.to_string(), pod.id.name.to_string())));
    }
    found
}

/// The ztunnels of the ends that are captured, and the waypoint between them.
fn ambient(mesh: &Mesh, call: &Call, trace: &Trace) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut add = |pod: Pod<'_>| {
        found.insert((pod.namespace().to_owned(), pod.name().to_owned()));
    };
    for end in super::case::pods_on_path(mesh, call, trace) {
        let Some(pod) = Pod::get(&mesh.objects, &end.namespace, &end.name) else {
            continue;
        };
        let node = pod.node_name().map_or("", |node| node.value);
        if Redirection::of(pod.object) != Redirection::None {
            mesh.node_agent(NodeAgent::Ztunnel, node).map(&mut add);
        }
        for service in mesh.services_of(pod.object) {
            if let Some(gateway) = mesh.service_waypoint(service).gateway() {
                mesh.deployed_pods(gateway).for_each(&mut add);
            }
        }
    }
    found
}

fn pods(mesh: &Mesh, call: &Call, trace: &Trace) -> BTreeSet<(String, String)> {
    let of_hops = trace.hops.iter().map(|hop| &hop.proxy);
    super::case::pods_on_path(mesh, call, trace)
        .map(|pod| (pod.namespace.clone(), pod.name.clone()))
        .chain(of_hops.map(|proxy| (proxy.namespace.clone(), proxy.pod.clone())))
        .collect()
}
