//! See the page beside this file.

use super::references::gateways;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3006",
    name: "gateway-class-unknown",
    aka: &["KIA1504"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Gateway is of a class that exists",
    needs: Inputs::of(&[Kind::K8sGateway, Kind::GatewayClass]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateway_class_unknown.md"),
    check: Check::Object(check),
};

/// Classes that istiod makes.
const OF_ISTIOD: [&str; 4] = ["istio", "istio-remote", "istio-waypoint", "istio-east-west"];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if !holds(facts, Kind::GatewayClass) {
        return;
    }
    for gateway in gateways(facts.mesh) {
        out.examined();
        let Some(node) = gateway.spec_at(["gatewayClassName"]) else {
            continue;
        };
        let name = node.str().unwrap_or_default();
        if OF_ISTIOD.contains(&name)
            || facts
                .mesh
                .objects
                .get(Kind::GatewayClass, "", name)
                .is_some()
        {
            continue;
        }
        let message = format!(
            "{} is of class {name}, and there is no such GatewayClass",
            gateway.id
        );
        out.find(
            gateway.id.clone(),
            message,
            Evidence::of(gateway, node, "its class"),
        )
        .fix(Fix::advice("name a class that exists, such as istio"));
    }
}
