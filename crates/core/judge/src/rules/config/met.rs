//! What a request meets.

use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_mesh::Object;
use meshladder_mesh::host::covers;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::traffic::hosts;
use meshladder_sim::trace::{EndKind, HopDirection};

/// The host that the request names: `Host`, else that of its URL, in full when it is a Service's.
pub(super) fn authority(case: &Case<'_>) -> String {
    let header = case
        .call
        .headers
        .iter()
        .find(|(name, _)| name == "host")
        .map(|(_, value)| value);
    header.map_or_else(
        || case.host.clone(),
        |host| {
            host.split(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
        },
    )
}

/// The pod of the first proxy on the way.
fn first_pod<'m>(facts: &Facts<'m>, case: &Case<'_>) -> Option<&'m Object> {
    let proxy = &case.trace.sender()?.proxy;
    facts
        .mesh
        .objects
        .get(Kind::Pod, &proxy.namespace, &proxy.pod)
}

/// What the first proxy on the way imports.
pub(super) fn scope<'m>(facts: &Facts<'m>, case: &Case<'_>) -> Option<Scope<'m>> {
    let client = || {
        case.client
            .and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name))
    };
    first_pod(facts, case)
        .or_else(client)
        .map(|pod| facts.mesh.scope(pod))
}

/// Whether it comes through a gateway.
pub(super) fn is_through_gateway(case: &Case<'_>) -> bool {
    case.call.from == meshladder_sim::walk::Caller::Outside
        || case
            .trace
            .hops
            .first()
            .is_some_and(|hop| hop.direction == HopDirection::Gateway)
}

/// Whether a VirtualService is for the request's host.
pub(super) fn is_for_host(facts: &Facts<'_>, service: &Object, host: &str) -> bool {
    hosts(service, &facts.mesh.domain).any(|(_, full)| covers(&full, host))
}

/// Whether no route, or nobody listening, ends it: predicted or seen.
pub(super) fn lacks_route(case: &Case<'_>) -> bool {
    case.ends(EndKind::NoRoute).next().is_some()
        || case.ends(EndKind::NoListener).next().is_some()
        || case
            .seen
            .is_some_and(|seen| seen.has("NR") || (seen.code == 404 && seen.flags.is_empty()))
}

/// Whether it fails, predicted or seen.
pub(super) fn fails(case: &Case<'_>) -> bool {
    let is_bad = |kind: EndKind| {
        !matches!(
            kind,
            EndKind::Forwarded | EndKind::Answered | EndKind::Undecided
        )
    };
    case.trace
        .branches
        .iter()
        .any(|branch| is_bad(branch.end.kind))
        || case.seen.is_some_and(|seen| !seen.is_success())
}

/// Where the first proxy may send it, taken apart; and where it was seen to send it.
pub(super) fn clusters<'a>(case: &'a Case<'_>) -> impl Iterator<Item = ClusterName<'a>> {
    let logged = case.client_log.iter().map(|line| line.cluster.as_str());
    case.clusters().chain(logged).filter_map(ClusterName::parse)
}
