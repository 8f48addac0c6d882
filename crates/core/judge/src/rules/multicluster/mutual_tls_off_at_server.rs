//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::Workload;

pub(super) static RULE: Rule = Rule {
    code: "ML1214",
    name: "mutual-tls-off-at-server",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "pods that other networks call take mutual TLS",
    needs: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::Service,
        Kind::Pod,
        Kind::Namespace,
    ]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod]),
    explains: &["ML07", "ML08", "ML10"],
    docs: include_str!("mutual_tls_off_at_server.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let Some(request) = &crossing.request else {
        return;
    };
    for pair in joint::pairs(crossing) {
        let Some(service) = pair.service else {
            continue;
        };
        let Some(port) = service.port(request.call.to.port) else {
            continue;
        };
        let to = pair.to;
        for pod in pair.servers() {
            out.examined();
            let Some(target) = port.target_in(pod) else {
                continue;
            };
            let mode = to.mesh.mutual_tls(&Workload::of(pod), target);
            let (MutualTls::Disable, Some((policy, node))) = (mode.mode, mode.by) else {
                continue;
            };
            let message = format!(
                "{} in {} switches mutual TLS off for {}: istiod in {} does not know it, so callers there send it mutual TLS",
                policy.id, to.name, pod.id, pair.from.name
            );
            let proof = joint::of(to, Evidence::of(policy, node, "it takes plain text only"));
            crossing
                .find(out, to, policy.id.clone(), message, proof)
                .fix(Fix::advice(format!(
                    "make {} PERMISSIVE, which takes plain text too",
                    policy.id
                )));
            break;
        }
    }
}
