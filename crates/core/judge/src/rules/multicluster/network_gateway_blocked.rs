//! See the page beside this file.

use super::joint;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::network_policy::{End, Passage};

pub(super) static RULE: Rule = Rule {
    code: "ML1207",
    name: "network-gateway-blocked",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps other networks from a network's gateway",
    needs: Inputs::of(&[
        Kind::Service,
        Kind::Pod,
        Kind::Namespace,
        Kind::NetworkPolicy,
    ]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("network_gateway_blocked.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let mut callers = pair.from.mesh.pods.iter().filter(|pod| pod.running);
        let client = match pair.client {
            Some(client) => pair.from.mesh.pod(&client.id.namespace, &client.id.name),
            None => callers.next(),
        };
        let Some(address) = client.and_then(|pod| pod.ips.first().copied()) else {
            continue;
        };
        let to = pair.to;
        for (pod, port) in pair.gateway_pods() {
            out.examined();
            let passage = to
                .mesh
                .connection(End::Address(address), End::Pod(pod), port, "TCP");
            let Passage::Blocked(ends) = passage else {
                continue;
            };
            let Some((end, part)) = ends
                .first()
                .and_then(|end| Some((end, end.policies.first()?)))
            else {
                continue;
            };
            let (policy, node) = match &end.nearest {
                Some(near) => (near.policy, near.field),
                None => (part.policy, part.node),
            };
            let message = format!(
                "{} keeps callers of {} from {}, the gateway of {}",
                policy.id, pair.from.name, pod.id, to.name
            );
            let proof = joint::of(to, Evidence::of(policy, node, "who may call the gateway"));
            let finding = crossing.find(out, to, policy.id.clone(), message, proof);
            // With which address a caller of another network comes, no object tells.
            finding.confidence(Confidence::Likely);
            finding.fix(Fix::advice(format!(
                "let port {port} of {} be called from outside the cluster, in {}",
                pod.id, policy.id
            )));
            break;
        }
    }
}
