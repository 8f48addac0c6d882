//! See the page beside this file.

use super::clients::Clients;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0514",
    name: "route-leads-nowhere",
    aka: &["KIA1104", "KIA1105"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every route has somewhere to go, and its weights say how much goes where",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Sidecar]),
    explains: &["ML06"],
    docs: include_str!("route_leads_nowhere.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        if case.is_some_and(|case| !meets(facts, case, service)) {
            continue;
        }
        let is_used = case.is_some() || !clients.of_virtual_service(service).is_empty();
        for kind in ["http", "tls", "tcp"] {
            for route in service.spec_list(kind) {
                out.examined();
                judge(service, kind, route, is_used, out);
            }
        }
    }
}

fn meets(facts: &Facts<'_>, case: &Case<'_>, service: &Object) -> bool {
    let is_seen = met::scope(facts, case)
        .is_none_or(|scope| facts.mesh.is_exported_to(service, scope.namespace));
    is_seen && met::is_for_host(facts, service, &met::authority(case)) && met::fails(case)
}

fn judge(service: &Object, kind: &str, route: &Node, is_used: bool, out: &mut Sink) {
    let to = route.get("route").map_or(&[][..], Node::items);
    let answers = ["redirect", "directResponse", "delegate"]
        .iter()
        .any(|key| route.get(key).is_some());
    let weights: Vec<u64> = to
        .iter()
        .map(|to| to.get("weight").and_then(weight).unwrap_or(0))
        .collect();
    let total: u64 = weights.iter().sum();
    let name = route
        .str_at("name")
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    let (message, severity, at) = match to {
        [] if !answers => (
            format!(
                "the {kind} route{name} of {} has no destination",
                service.id
            ),
            Severity::Error,
            route,
        ),
        [_, _, ..] if total == 0 => {
            let message = format!(
                "the weights of the {kind} route{name} of {} are all 0",
                service.id
            );
            (
                message,
                Severity::Error,
                route.get("route").unwrap_or(route),
            )
        }
        // "A request is sent to a destination with probability of weight divided by the sum of
        // all."
        [_, _, ..] if total != 100 => {
            let shares: Vec<String> = weights.iter().map(u64::to_string).collect();
            let message = format!(
                "the weights {} of the {kind} route{name} of {} add up to {total}: they are shares, not percentages",
                shares.join(", "),
                service.id
            );
            (message, Severity::Info, route.get("route").unwrap_or(route))
        }
        _ => return,
    };
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, at, "the route"),
    );
    finding.severity(if is_used { severity } else { Severity::Info });
    if total == 0 && !to.is_empty() {
        finding.fix(patch::set(service, &to[0], "weight", 100_u16));
    }
    finding.fix(Fix::advice(
        "give the route a destination, and weights that add up to 100",
    ));
}

fn weight(node: &Node) -> Option<u64> {
    if let Value::Number(text) = &node.value {
        text.parse().ok()
    } else {
        None
    }
}
