//! See the page beside this file.

use std::collections::BTreeMap;

use super::listener::key;
use super::references::gateways;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3005",
    name: "listeners-alike",
    aka: &["KIA1503"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "the listeners of a Gateway differ in hostname, port or protocol",
    needs: Inputs::of(&[Kind::K8sGateway]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("listeners_alike.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in gateways(facts.mesh) {
        let mut seen: BTreeMap<String, &Node> = BTreeMap::new();
        for listener in gateway.spec_list("listeners") {
            out.examined();
            let Some(other) = seen.insert(key(listener), listener) else {
                continue;
            };
            let name = |listener: &Node| listener.str_at("name").unwrap_or_default().to_owned();
            let message = format!(
                "listeners {} and {} of {} are both {}",
                name(other),
                name(listener),
                gateway.id,
                key(listener)
            );
            out.find(
                gateway.id.clone(),
                message,
                Evidence::of(gateway, listener, "the listener"),
            )
            .see(Evidence::of(gateway, other, "the other"))
            .fix(Fix::advice(
                "leave one of them out, or give it another hostname or port",
            ));
        }
    }
}
