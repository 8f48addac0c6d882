//! What a request meets in ambient mode, and which pods a finding is about.

use crate::finding::Finding;
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Document, Shape};
use meshladder_mesh::ambient::{AmbientEnrolment, NodeAgent};
use meshladder_mesh::references::{self, Reference};
use meshladder_mesh::views::{K8sGateway, Pod};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_sim::trace::{Branch, EndKind, TunnelEnd};

/// The ends of a request that a ztunnel, or the want of one, has to do with.
pub(super) fn tunnel_ends<'c>(
    case: &'c Case<'_>,
) -> impl Iterator<Item = (&'c Branch, &'c TunnelEnd)> {
    let branches = case.trace.branches.iter();
    branches.filter_map(|branch| Some((branch, branch.end.tunnel.as_deref()?)))
}

/// The dumps of ztunnels. One that cannot be opened was noted as such when it was read.
pub(super) fn ztunnel_documents(facts: &Facts<'_>) -> Vec<Document> {
    let ids = facts.snapshot.ids();
    ids.filter(|id| id.shape() == Shape::ZtunnelDump)
        .filter_map(|id| facts.snapshot.open(id).ok())
        .collect()
}

/// The DaemonSet of the ztunnels, by the name that Istio's charts give it where it was not read.
pub(super) fn ztunnel_set(facts: &Facts<'_>) -> ObjectRef {
    let set = facts.mesh.node_agent_set(NodeAgent::Ztunnel);
    set.map_or_else(
        || ObjectRef::of(Kind::DaemonSet, "istio-system", "ztunnel"),
        |set| set.id.clone(),
    )
}

/// Whether the request fails, as somebody saw or as its walk ends.
pub(super) fn fails(case: &Case<'_>) -> bool {
    if let Some(seen) = case.seen {
        return !seen.is_success();
    }
    let mut ends = case.trace.branches.iter().map(|branch| branch.end.kind);
    ends.any(|kind| kind != EndKind::Forwarded && kind != EndKind::Undecided)
}

/// Whether somebody asks why a request got through.
pub(super) fn got_through(case: &Case<'_>) -> bool {
    case.seen.is_some_and(crate::rules::Symptom::is_success)
}

/// The object of a pod.
pub(super) fn object_of<'f>(facts: &Facts<'f>, pod: &PodFacts) -> Option<&'f Object> {
    facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name)
}

/// The calling pod.
pub(super) fn client<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<&'f Object> {
    object_of(facts, case.client?)
}

/// The Service that is called.
pub(super) fn service<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<&'f Object> {
    let service = case.service?;
    facts.mesh.service(&service.namespace, &service.name)
}

/// Whether a pod's traffic is ztunnel's.
pub(super) fn is_captured(facts: &Facts<'_>, pod: &Object) -> bool {
    facts.mesh.ambient_enrolment(pod).is_captured()
}

/// Every pod that runs, with its enrolment; with a request only its ends.
pub(super) fn pods<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
) -> Vec<(&'f Object, AmbientEnrolment<'f>)> {
    let mut found = Vec::new();
    for pod in facts.mesh.pods.iter() {
        let same = |other: &&PodFacts| other.name == pod.name && other.namespace == pod.namespace;
        let is_asked = case.is_none_or(|case| case.client.iter().chain(&case.servers).any(same));
        let Some(object) = object_of(facts, pod).filter(|_| is_asked) else {
            continue;
        };
        if !matches!(Pod::of(object).phase(), "Succeeded" | "Failed") {
            found.push((object, facts.mesh.ambient_enrolment(object)));
        }
    }
    found
}

/// Puts the ends of a request on a finding: what else is found of them follows from it.
pub(super) fn hit_ends(finding: &mut Finding, case: &Case<'_>) {
    for pod in case.client.iter().chain(&case.servers) {
        finding.hits(pod.reference());
    }
    if let Some(service) = case.service {
        finding.hits(ObjectRef::of(
            Kind::Service,
            &service.namespace,
            &service.name,
        ));
    }
}

/// Puts a Service on a finding, with its pods and the policies and routes for it.
pub(super) fn hit_service(finding: &mut Finding, facts: &Facts<'_>, service: &Object) {
    finding.hits(service.id.clone());
    for pod in facts.mesh.selected_pods(service) {
        finding.hits(pod.id.clone());
    }
    let is_it =
        |namespace: &str, name: &str| service.id.namespace == namespace && service.id.name == name;
    for kind in [Kind::AuthorizationPolicy, Kind::RequestAuthentication] {
        let own = facts.mesh.objects.in_namespace(kind, &service.id.namespace);
        for policy in own {
            let targets = policy.spec_list("targetRefs").iter();
            let mut targets = targets.map(|node| Reference::of(policy, node, "", "Service"));
            if targets.any(|to| to.is_service() && is_it(&policy.id.namespace, to.name)) {
                finding.hits(policy.id.clone());
            }
        }
    }
    for route in facts.mesh.objects.of_kind(Kind::HttpRoute) {
        let mut parents = references::parents(route);
        if parents.any(|to| to.is_service() && is_it(to.namespace, to.name)) {
            finding.hits(route.id.clone());
        }
    }
}

/// The workload to change when a pod is at fault.
pub(super) fn workload_of(facts: &Facts<'_>, pod: &Object) -> ObjectRef {
    let known = facts.mesh.pod(&pod.id.namespace, &pod.id.name);
    known.map_or_else(|| pod.id.clone(), PodFacts::workload)
}

/// The waypoint that the trace's Envoy is, when it is one.
pub(super) fn crossed_waypoint<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<K8sGateway<'f>> {
    let mut hops = case.trace.hops.iter().filter(|hop| !hop.is_ztunnel);
    hops.find_map(|hop| {
        let (namespace, name) = (&hop.proxy.namespace, &hop.proxy.pod);
        let pod = facts.mesh.objects.get(Kind::Pod, namespace, name)?;
        facts.mesh.waypoint_of_pod(pod)
    })
}

/// What follows from pods that are not reached as they should be.
pub(super) const DAMAGE: &[&str] = &[
    "ML06", "ML07", "ML08", "ML09", "ML10", "ML4001", "ML4004", "ML4006", "ML4020", "ML4021",
    "ML4022", "ML4023", "ML4024", "ML4025", "ML4026", "ML4030",
];
