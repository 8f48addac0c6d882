//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::services::{ports, target_port};

pub(super) static RULE: Rule = Rule {
    code: "ML2202",
    name: "port-not-on-service",
    aka: &["IST0162"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every port of a Gateway is one that a Service of its pods has",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("port_not_on_service.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway).iter() {
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
