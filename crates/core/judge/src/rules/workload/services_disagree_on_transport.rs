//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::services::{Behind, MOST_SHOWN, all, names};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::ports;

pub(super) static RULE: Rule = Rule {
    code: "ML3401",
    name: "services-disagree-on-transport",
    aka: &["IST0116"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "all Services of a Deployment use a port with one protocol",
    needs: Inputs::of(&[Kind::Deployment, Kind::Service]),
    uses: Inputs::of(&[Kind::Namespace]),
    explains: &[],
    docs: include_str!("services_disagree_on_transport.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for Behind {
        deployments,
        services,
    } in all(facts.mesh)
    {
        for _ in &deployments {
            out.examined();
        }
        let mut by_port: BTreeMap<u16, Vec<(&str, &Object)>> = BTreeMap::new();
        for service in services {
            for port in ports(service) {
                let protocol = port
                    .node
                    .str_at("protocol")
                    .filter(|protocol| !protocol.is_empty())
                    .unwrap_or("TCP");
                by_port
                    .entry(port.number)
                    .or_default()
                    .push((protocol, service));
            }
        }
        for (port, uses) in by_port {
            let protocols: BTreeSet<&str> = uses.iter().map(|(protocol, _)| *protocol).collect();
            if protocols.len() < 2 {
                continue;
            }
            let names = names(uses.iter().map(|(_, service)| *service));
            let protocols: Vec<&str> = protocols.into_iter().collect();
            for deployment in &deployments {
                let message = format!(
                    "{} is behind Services that use port {port} with several protocols ({}): {names}",
                    deployment.id,
                    protocols.join(", ")
                );
                let evidence = Evidence::object(deployment, "the Deployment behind them");
                let finding = out.find(deployment.id.clone(), message, evidence);
                for (_, service) in uses.iter().take(MOST_SHOWN) {
                    finding.see(Evidence::object(service, "one of the Services"));
                }
                finding.fix(Fix::advice(
                    "use the port with one protocol, or make it one Service",
                ));
            }
        }
    }
}
