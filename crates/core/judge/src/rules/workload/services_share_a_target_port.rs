//! See the page beside this file.

use std::collections::BTreeMap;

use super::services::{Behind, MOST_SHOWN, all, names};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::{ServicePort, ports};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3402",
    name: "services-share-a-target-port",
    aka: &["IST0137"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "all Services of a Deployment lead to a port of its pods from one port",
    needs: Inputs::of(&[Kind::Deployment, Kind::Service]),
    uses: Inputs::of(&[Kind::Namespace]),
    explains: &[],
    docs: include_str!("services_share_a_target_port.md"),
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
        let mut by_target: BTreeMap<String, BTreeMap<u16, &Object>> = BTreeMap::new();
        for service in services {
            for port in ports(service) {
                by_target
                    .entry(target(&port))
                    .or_default()
                    .insert(port.number, service);
            }
        }
        for (target, uses) in by_target.iter().filter(|(_, uses)| uses.len() > 1) {
            let numbers: Vec<String> = uses.keys().take(MOST_SHOWN).map(u16::to_string).collect();
            let (numbers, names) = (numbers.join(", "), names(uses.values().copied()));
            for deployment in &deployments {
                let message = format!(
                    "{} is behind Services that lead to port {target} of its pods from different ports ({numbers}): {names}",
                    deployment.id,
                );
                let evidence = Evidence::object(deployment, "the Deployment behind them");
                let finding = out.find(deployment.id.clone(), message, evidence);
                for service in uses.values().take(MOST_SHOWN) {
                    finding.see(Evidence::object(service, "one of the Services"));
                }
                finding.fix(Fix::advice(
                    "let one port lead there, or let the pods listen on one port for each",
                ));
            }
        }
    }
}

/// "By default and for convenience, the targetPort is set to the same value as the port field."
fn target(port: &ServicePort<'_>) -> String {
    let written = port.target_port.map(|target| {
        target
            .str()
            .map_or_else(|| Node::to_json(target), str::to_owned)
    });
    written
        .filter(|text| !["", "0", "null"].contains(&text.as_str()))
        .unwrap_or_else(|| port.number.to_string())
}
