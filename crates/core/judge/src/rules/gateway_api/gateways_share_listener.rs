//! See the page beside this file.

use std::collections::BTreeMap;

use super::listener::{addresses, key};
use super::references::gateways;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) static RULE: Rule = Rule {
    code: "ML3003",
    name: "gateways-share-listener",
    aka: &["KIA1501"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no two Gateways on one address have the same listener",
    needs: Inputs::of(&[Kind::K8sGateway]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateways_share_listener.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut seen: BTreeMap<_, &Object> = BTreeMap::new();
    for gateway in gateways(facts.mesh) {
        for listener in gateway.spec_list("listeners") {
            out.examined();
            // Each Gateway has pods of its own, unless it names those of another by their Service's
            // host.
            for (_, address) in addresses(gateway).filter(|(kind, _)| *kind == "Hostname") {
                let other = *seen.entry((address, key(listener))).or_insert(gateway);
                if other.id == gateway.id {
                    continue;
                }
                let message = format!(
                    "{} and {} both have {} on {address}",
                    gateway.id,
                    other.id,
                    key(listener)
                );
                out.find(
                    gateway.id.clone(),
                    message,
                    Evidence::of(gateway, listener, "the listener"),
                )
                .see(Evidence::object(other, "the other"))
                .fix(Fix::advice("leave the listener to one of them"));
            }
        }
    }
}
