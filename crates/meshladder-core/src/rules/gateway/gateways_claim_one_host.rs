//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::gateways::servers;
use crate::rules::analyzed::{GATEWAYS, PODS};
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML2203",
    name: "gateways-claim-one-host",
    aka: &["IST0145", "KIA0301"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no two Gateways have one host on one port of one pod",
    needs: &[GATEWAYS, PODS],
    uses: &[],
    explains: &[],
    docs: include_str!("gateways_claim_one_host.md"),
    check: Check::Object(check),
};

/// Port, bind address and host, as written.
type Key<'m> = (u16, &'m str, &'m str);

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut claims: BTreeMap<Key<'_>, Vec<(&Stored, &Node)>> = BTreeMap::new();
    for gateway in facts.mesh.objects.of("Gateway", "networking.istio.io") {
        out.examined();
        for server in servers(gateway) {
            let bind = server.node.str_at("bind").unwrap_or_default();
            for host in server.node.get("hosts").map_or(&[][..], Node::items) {
                let key = (server.port, bind, host.str().unwrap_or_default());
                claims.entry(key).or_default().push((gateway, host));
            }
        }
    }
    let mut told = BTreeSet::new();
    for ((port, _, host), claims) in claims.iter().filter(|(_, claims)| claims.len() > 1) {
        for (gateway, node) in claims {
            let rival = claims.iter().map(|(other, _)| other).find(|other| meet(facts, gateway, other));
            let Some(rival) = rival.filter(|_| told.insert(&gateway.id)) else { continue };
            let message = format!("{} and {} both have {host} on port {port} of the same pods", gateway.id, rival.id);
            out.find(gateway.id.clone(), message, Evidence::of(gateway, node, "the host"))
                .fix(Fix::advice("leave the host and port to one of them"));
        }
    }
}

/// Whether one pod may be configured by both.
fn meet(facts: &Facts<'_>, a: &Stored, b: &Stored) -> bool {
    if a.id == b.id {
        return false;
    }
    let selector = |gateway: &Stored| gateway.spec_at(["selector"]).map(Node::to_json);
    selector(a) == selector(b) || {
        let of_a = facts.mesh.gateway_pods(a);
        facts.mesh.gateway_pods(b).iter().any(|pod| of_a.iter().any(|other| other.id == pod.id))
    }
}
