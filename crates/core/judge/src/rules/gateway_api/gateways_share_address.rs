//! See the page beside this file.

use std::collections::BTreeMap;

use super::listener::addresses;
use super::references::gateways;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::number;

pub(super) static RULE: Rule = Rule {
    code: "ML3004",
    name: "gateways-share-address",
    aka: &["KIA1502"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every Gateway asks for an address of its own",
    needs: Inputs::of(&[Kind::K8sGateway]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateways_share_address.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut seen: BTreeMap<(&str, Option<u16>), &Object> = BTreeMap::new();
    for gateway in gateways(facts.mesh) {
        out.examined();
        // A host names the Service of a gateway, which several may share.
        for (_, address) in addresses(gateway).filter(|(kind, _)| *kind == "IPAddress") {
            let ports = gateway
                .spec_list("listeners")
                .iter()
                .map(|listener| listener.get("port").and_then(number));
            let others: Vec<_> = ports
                .map(|port| (port, *seen.entry((address, port)).or_insert(gateway)))
                .collect();
            let Some((port, other)) = others.into_iter().find(|(_, other)| other.id != gateway.id)
            else {
                continue;
            };
            let port = port.unwrap_or_default();
            let message = format!(
                "{} and {} both ask for {address} on port {port}",
                gateway.id, other.id
            );
            let node = gateway.spec_at(["addresses"]).unwrap_or(&gateway.node);
            out.find(
                gateway.id.clone(),
                message,
                Evidence::of(gateway, node, "what it asks for"),
            )
            .see(Evidence::object(other, "the other"))
            .fix(Fix::advice("ask for another address"));
        }
    }
}
