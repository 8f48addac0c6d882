//! As the objects alone show it.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::services::{ports, target_port};

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Service]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        let pods = facts.mesh.gateway_pods(gateway);
        if pods.is_empty() {
            continue;
        }
        let open: BTreeSet<u16> = pods.iter().flat_map(|pod| open(facts, pod)).collect();
        for server in servers(gateway) {
            out.examined();
            if open.contains(&server.port) {
                continue;
            }
            let port = server.node.at(["port", "number"]).unwrap_or(server.node);
            let message = format!(
                "{} listens on port {}, and no Service of its pods has that port",
                gateway.id, server.port
            );
            out.find(
                gateway.id.clone(),
                message,
                Evidence::of(gateway, port, "the port"),
            )
            .fix(Fix::advice(
                "use a port that the gateway's Service has, or add it there",
            ));
        }
    }
}

/// The ports that Services lead to a pod at, and their own numbers, which istiod translates.
fn open(facts: &Facts<'_>, pod: &Object) -> Vec<u16> {
    let mut open = Vec::new();
    for service in facts.mesh.services_of(pod) {
        for port in
            ports(service).filter(|port| port.node.str_at("protocol").is_none_or(|p| p == "TCP"))
        {
            open.push(port.number);
            open.extend(target_port(&port, pod));
        }
    }
    open
}
