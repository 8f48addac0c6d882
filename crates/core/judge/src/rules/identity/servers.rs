//! The pods that a request may reach, and what their ports take.

use crate::rules::endpoints::called_service::{self, CalledService};
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::PeerMode;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::services::{ports, target_port};

/// A pod with a proxy, and the mode of the port that is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server<'f> {
    pub(super) pod: &'f Object,
    pub(super) port: u16,
    pub(super) mode: PeerMode<'f>,
}

/// The pods of a Service that have a proxy, with the modes of its ports.
pub(super) fn of_service<'f>(facts: &Facts<'f>, called: &CalledService<'f>) -> Vec<Server<'f>> {
    let mut found = Vec::new();
    for pod in called.pods(facts.mesh, None) {
        let wanted = ports(called.service)
            .filter(|port| called.port.is_none_or(|number| number == port.number));
        for port in wanted.filter_map(|port| target_port(&port, pod)) {
            found.extend(server(facts, pod, port));
        }
    }
    found
}

/// The pods that a request may reach.
pub(super) fn of_request<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Vec<Server<'f>> {
    let called = case
        .call
        .to
        .host
        .parse()
        .ok()
        .and_then(|address| facts.mesh.pod_at(address));
    if let Some(pod) = called {
        let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        return stored
            .and_then(|pod| server(facts, pod, case.call.to.port))
            .into_iter()
            .collect();
    }
    called_service::services(facts, Some(case))
        .iter()
        .flat_map(|called| of_service(facts, called))
        .collect()
}

fn server<'f>(facts: &Facts<'f>, pod: &'f Object, port: u16) -> Option<Server<'f>> {
    let has_proxy = facts
        .mesh
        .pod(&pod.id.namespace, &pod.id.name)
        .is_some_and(|pod| pod.has_proxy);
    has_proxy.then(|| Server {
        pod,
        port,
        mode: facts.mesh.mutual_tls(&Workload::of(pod), port),
    })
}

/// Whether nothing that is known of the request speaks against its failing: it was not seen, or
/// computed, to succeed.
pub(super) fn may_fail(case: &Case<'_>) -> bool {
    let works = case.seen.is_some_and(crate::rules::Symptom::is_success);
    let passes = case
        .trace
        .branches
        .iter()
        .all(|branch| branch.end.kind == meshladder_sim::trace::EndKind::Forwarded);
    !works && (!passes || case.seen.is_some())
}
