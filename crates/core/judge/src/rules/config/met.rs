//! What a request meets.

use crate::rules::{Asked, Facts};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_mesh::Stored;
use meshladder_mesh::host::covers;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::traffic::hosts;
use meshladder_sim::trace::Kind;

/// The host that the request names: `Host`, else that of its URL, in full when it is a Service's.
pub(super) fn authority(asked: &Asked<'_>) -> String {
    let header = asked
        .question
        .headers
        .iter()
        .find(|(name, _)| name == "host")
        .map(|(_, value)| value);
    header.map_or_else(
        || asked.host.clone(),
        |host| {
            host.split(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
        },
    )
}

/// The pod of the first proxy on the way.
fn first_pod<'m>(facts: &Facts<'m>, asked: &Asked<'_>) -> Option<&'m Stored> {
    let hop = asked
        .trace
        .hops
        .first()
        .filter(|hop| hop.direction != "inbound");
    let (namespace, name) = hop.and_then(|hop| hop.proxy.split_once('/'))?;
    facts.mesh.objects.get("Pod", namespace, name)
}

/// What the first proxy on the way imports.
pub(super) fn scope<'m>(facts: &Facts<'m>, asked: &Asked<'_>) -> Option<Scope<'m>> {
    let client = || {
        asked
            .client
            .and_then(|pod| facts.mesh.objects.get("Pod", &pod.namespace, &pod.name))
    };
    first_pod(facts, asked)
        .or_else(client)
        .map(|pod| facts.mesh.scope(pod))
}

/// Whether it comes through a gateway.
pub(super) fn is_through_gateway(asked: &Asked<'_>) -> bool {
    asked.question.from == meshladder_sim::walk::Caller::Outside
        || asked
            .trace
            .hops
            .first()
            .is_some_and(|hop| hop.direction == "gateway")
}

/// Whether a VirtualService is for the request's host.
pub(super) fn is_for_host(facts: &Facts<'_>, service: &Stored, host: &str) -> bool {
    hosts(service, &facts.mesh.domain).any(|(_, full)| covers(&full, host))
}

/// Whether no route, or nobody listening, ends it: predicted or seen.
pub(super) fn lacks_route(asked: &Asked<'_>) -> bool {
    asked.ends(Kind::NoRoute).next().is_some()
        || asked.ends(Kind::NoListener).next().is_some()
        || asked
            .seen
            .is_some_and(|seen| seen.has("NR") || (seen.code == 404 && seen.flags.is_empty()))
}

/// Whether it fails, predicted or seen.
pub(super) fn fails(asked: &Asked<'_>) -> bool {
    let is_bad = |kind: Kind| !matches!(kind, Kind::Forwarded | Kind::Answered | Kind::Undecided);
    asked
        .trace
        .branches
        .iter()
        .any(|branch| is_bad(branch.end.kind))
        || asked.seen.is_some_and(|seen| !seen.is_success())
}

/// Where the first proxy may send it, taken apart; and where it was seen to send it.
pub(super) fn clusters<'a>(asked: &'a Asked<'_>) -> impl Iterator<Item = ClusterName<'a>> {
    let logged = asked.client_log.iter().map(|line| line.cluster.as_str());
    asked
        .clusters()
        .chain(logged)
        .filter_map(ClusterName::parse)
}
