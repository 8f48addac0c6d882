//! As the objects alone show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::NONE,
};

/// Port, bind address and host, as written.
type Key<'m> = (u16, &'m str, &'m str);

/// A Gateway and the host in it.
type Claim<'m> = (&'m Object, &'m Node);

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut claims: BTreeMap<Key<'_>, Vec<Claim<'_>>> = BTreeMap::new();
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        out.examined();
        for server in servers(gateway) {
            let bind = server.node.str_at("bind").unwrap_or_default();
            for host in list(server.node, "hosts") {
                let key = (server.port, bind, host.str().unwrap_or_default());
                claims.entry(key).or_default().push((gateway, host));
            }
        }
    }
    let mut told = BTreeSet::new();
    for ((port, _, host), claims) in claims.iter().filter(|(_, claims)| claims.len() > 1) {
        for ((gateway, node), rival) in rivals(facts.mesh, claims) {
            if told.insert(&gateway.id) {
                let message = format!(
                    "{} and {} both have {host} on port {port} of the same pods",
                    gateway.id, rival.id
                );
                out.find(
                    gateway.id.clone(),
                    message,
                    Evidence::of(gateway, node, "the host"),
                )
                .fix(Fix::advice("leave the host and port to one of them"));
            }
        }
    }
}

/// Each claim that another Gateway makes too, with that one. Gateways with one selector meet
/// whatever pods there are, others where a pod is configured by both.
fn rivals<'m>(mesh: &'m Mesh, claims: &[Claim<'m>]) -> Vec<(Claim<'m>, &'m Object)> {
    let mut by_selector: BTreeMap<String, Vec<Claim<'m>>> = BTreeMap::new();
    for claim in claims {
        let selector = claim
            .0
            .spec_at(["selector"])
            .map(Node::to_json)
            .unwrap_or_default();
        by_selector.entry(selector).or_default().push(*claim);
    }
    // Of each pod the first Gateway, and the first with another selector.
    let mut of_pod: BTreeMap<&ObjectRef, Vec<&'m Object>> = BTreeMap::new();
    if by_selector.len() > 1 {
        for claims in by_selector.values() {
            for pod in mesh.gateway_pods(claims[0].0) {
                of_pod.entry(&pod.id).or_default().push(claims[0].0);
            }
        }
    }
    let mut found = Vec::new();
    for claims in by_selector.values() {
        let first = claims[0].0;
        let second = claims
            .iter()
            .map(|(gateway, _)| *gateway)
            .find(|gateway| gateway.id != first.id);
        let near = if by_selector.len() > 1 {
            mesh.gateway_pods(first)
        } else {
            Vec::new()
        };
        let mut elsewhere = near.iter().filter_map(|pod| of_pod.get(&pod.id)).flatten();
        let elsewhere = elsewhere.find(|other| other.id != first.id).copied();
        for claim in claims {
            let beside = if claim.0.id == first.id {
                second
            } else {
                Some(first)
            };
            let rival = beside.or(elsewhere.filter(|other| other.id != claim.0.id));
            found.extend(rival.map(|rival| (*claim, rival)));
        }
    }
    found
}
