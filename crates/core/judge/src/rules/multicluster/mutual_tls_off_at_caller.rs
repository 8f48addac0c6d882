//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::views::{DestinationRule, Service};
use meshladder_mesh::{Cluster, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1218",
    name: "mutual-tls-off-at-caller",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "callers of another network send mutual TLS",
    needs: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::DestinationRule,
        Kind::Service,
        Kind::Pod,
        Kind::Namespace,
    ]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod]),
    explains: &["ML07", "ML08", "ML10"],
    docs: include_str!("mutual_tls_off_at_caller.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let Some(request) = &crossing.request else {
        return;
    };
    for pair in joint::pairs(crossing) {
        let (Some(service), Some(network)) = (pair.service, pair.crossed_network()) else {
            continue;
        };
        out.examined();
        let port = request.call.to.port;
        let found = by_rule(pair.from, service, port).or_else(|| by_policy(&pair, service, port));
        let Some((object, node, what)) = found else {
            continue;
        };
        let from = pair.from;
        let message = format!(
            "{} in {} {what}: the gateway of {network} takes only mutual TLS of the mesh, so callers do not get through it",
            object.id, from.name
        );
        let proof = joint::of(from, Evidence::of(object, node, what));
        crossing
            .find(out, from, object.id.clone(), message, proof)
            .fix(Fix::advice(format!("let {} ask for mutual TLS", object.id)));
    }
}

/// A DestinationRule of the caller's cluster that asks for something else.
fn by_rule<'a>(
    from: &'a Cluster,
    service: Service<'_>,
    port: u16,
) -> Option<(&'a Object, &'a Node, String)> {
    let host = from
        .mesh
        .domain
        .service(service.name(), service.namespace());
    for object in from.mesh.destination_rules_of(&host) {
        let Some(policy) = DestinationRule::of(object).traffic_policy() else {
            continue;
        };
        let on_port = policy
            .port_level()
            .find(|level| level.port().is_some_and(|own| own.value == port))
            .and_then(meshladder_mesh::views::destination_rule::TrafficPolicy::tls);
        let Some(tls) = on_port.or_else(|| policy.tls()) else {
            continue;
        };
        let mode = tls.node.str_at("mode").unwrap_or("DISABLE");
        if mode != "ISTIO_MUTUAL" {
            return Some((object, tls.node, format!("asks for TLS mode {mode}")));
        }
    }
    None
}

/// A PeerAuthentication of the caller's cluster by which its istiod takes the pods for plain.
fn by_policy<'a>(
    pair: &Pair<'a>,
    service: Service<'a>,
    port: u16,
) -> Option<(&'a Object, &'a Node, String)> {
    let pod = pair.servers().into_iter().next()?;
    let target = service.port(port)?.target_in(pod)?;
    let mode = pair.from.mesh.mutual_tls(&Workload::of(pod), target);
    let (MutualTls::Disable, Some((policy, node))) = (mode.mode, mode.by) else {
        return None;
    };
    Some((policy, node, "switches mutual TLS off".to_owned()))
}
