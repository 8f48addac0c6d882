//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::host::covers;
use meshladder_mesh::views::gateway::Server;

pub(super) static RULE: Rule = Rule {
    code: "ML1206",
    name: "gateway-not-exposing",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "the gateway of a network exposes every host that other clusters call there",
    needs: Inputs::of(&[Kind::Service, Kind::Gateway, Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[Kind::K8sGateway, Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("gateway_not_exposing.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let (Some(service), Some((pod, port))) =
            (pair.service, pair.gateway_pods().into_iter().next())
        else {
            continue;
        };
        let to = pair.to;
        let gateways: Vec<_> = joint::passing_gateways(to)
            .into_iter()
            .filter(|gateway| gateway.configures(pod))
            .collect();
        let servers: Vec<Server<'_>> = gateways
            .iter()
            .flat_map(|gateway| gateway.servers())
            .filter(|server| server.port == port && joint::passes_by_sni(server))
            .collect();
        let Some(first) = servers.first() else {
            continue;
        };
        out.examined();
        let host = to.mesh.domain.service(service.name(), service.namespace());
        let exposes = |server: &Server<'_>| {
            server.hosts().any(|(from, pattern)| {
                let is_from = match from {
                    "*" => true,
                    "." => service.namespace() == server.gateway.id.namespace,
                    name => service.namespace() == name,
                };
                is_from && covers(pattern, &host)
            })
        };
        if servers.iter().any(exposes) {
            continue;
        }
        let gateway = first.gateway;
        let node = first.node.get("hosts").unwrap_or(first.node);
        let told: Vec<_> = first.host_leaves().map(|host| host.value).collect();
        let message = format!(
            "{} exposes {}, and not {host}: the gateway of {} closes connections that are for it",
            gateway.id,
            told.join(", "),
            to.name
        );
        let proof = joint::of(to, Evidence::of(gateway, node, "the hosts that it exposes"));
        crossing
            .find(out, to, gateway.id.clone(), message, proof)
            .fix(Fix::advice(format!(
                "add {host} to the hosts of {}, or *.local for all Services",
                gateway.id
            )));
    }
}
