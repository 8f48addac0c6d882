//! See the page beside this file.

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0610",
    name: "fault-beside-retries",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Info,
    claim: "no route has both a fault and retries or a timeout",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("fault_beside_retries.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    match case {
        None => {
            for service in mesh.objects.of_kind(Kind::VirtualService) {
                for route in service.spec_list("http") {
                    out.examined();
                    find(service, route, out);
                }
            }
        }
        Some(case) => {
            let client = sidecar(mesh, case);
            for service in serving(mesh, case, client) {
                if let Taken::Route(_, route) = RouteCall::of(case, client).takes(service) {
                    out.examined();
                    find(service, route, out);
                }
            }
        }
    }
}

fn find(service: &Object, route: &Node, out: &mut Sink) {
    let Some(fault) = route
        .get("fault")
        .filter(|fault| !fault.members().is_empty())
    else {
        return;
    };
    let Some(idle) = ["retries", "timeout"]
        .into_iter()
        .find(|key| route.get(key).is_some())
    else {
        return;
    };
    let message = format!(
        "{} has a fault and {idle} on one route: the {idle} do not act on the fault",
        service.id
    );
    let message = message.replace("the timeout do", "the timeout does");
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, fault, "the fault"),
    );
    if let Some(node) = route.get(idle) {
        finding.see(Evidence::of(service, node, "it does not act on the fault"));
    }
    finding.fix(Fix::advice(
        "inject the fault in a VirtualService at the server's side, away from what should survive it",
    ));
}
