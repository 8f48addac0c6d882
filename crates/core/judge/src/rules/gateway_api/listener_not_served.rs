//! See the page beside this file.

use super::references::gateways;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::number;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3008",
    name: "listener-not-served",
    aka: &["GWAPI"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "the controller serves every listener of a Gateway",
    needs: Inputs::of(&[Kind::K8sGateway]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("listener_not_served.md"),
    check: Check::Object(check),
};

/// Conditions, and the status that is bad. `Ready` is of older controllers.
const BAD: [(&str, &str); 6] = [
    ("Accepted", "False"),
    ("Programmed", "False"),
    ("ResolvedRefs", "False"),
    ("Ready", "False"),
    ("Conflicted", "True"),
    ("Detached", "True"),
];

/// Reasons that pass by themselves.
const PASSING: [&str; 4] = [
    "Pending",
    "AddressNotAssigned",
    "AddressNotUsable",
    "ListenersNotReady",
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in gateways(facts.mesh) {
        let listeners = gateway
            .node
            .at(["status", "listeners"])
            .map_or(&[][..], Node::items);
        for listener in listeners {
            out.examined();
            let conditions = listener.items_at("conditions");
            let Some(bad) = conditions
                .iter()
                .find(|condition| is_bad(gateway, condition))
            else {
                continue;
            };
            let text = |key: &str| bad.str_at(key).unwrap_or_default();
            let message = format!(
                "listener {} of {} has {}={}, {}: {}",
                listener.str_at("name").unwrap_or_default(),
                gateway.id,
                text("type"),
                text("status"),
                text("reason"),
                text("message").trim_end_matches('.')
            );
            out.find(
                gateway.id.clone(),
                message,
                Evidence::of(gateway, bad, "the condition"),
            )
            .fix(Fix::advice(
                "see the reason; the routes of the listener serve nobody until it is gone",
            ));
        }
    }
}

fn is_bad(gateway: &Object, condition: &Node) -> bool {
    let text = |key: &str| condition.str_at(key).unwrap_or_default();
    // What was said of an older generation may not hold any more.
    let seen = condition.get("observedGeneration").and_then(number);
    let is_old = seen.is_some_and(|seen| {
        gateway.node.at(["metadata", "generation"]).and_then(number) > Some(seen)
    });
    BAD.contains(&(text("type"), text("status"))) && !PASSING.contains(&text("reason")) && !is_old
}
