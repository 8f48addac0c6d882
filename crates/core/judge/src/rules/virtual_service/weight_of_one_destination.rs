//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::number;
use meshladder_mesh::traffic::routes;

pub(super) static RULE: Rule = Rule {
    code: "ML2050",
    name: "weight-of-one-destination",
    aka: &["KIA1104"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "a route with one destination gives it no weight below 100",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("weight_of_one_destination.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for route in routes(service) {
            let [only] = route.items_at("route") else {
                continue;
            };
            out.examined();
            let Some(node) = only.get("weight") else {
                continue;
            };
            let Some(weight @ 1..=99) = number(node) else {
                continue;
            };
            let message = format!(
                "a route of {} gives its only destination the weight {weight}, and all traffic goes there all the same",
                service.id
            );
            let patch = vec![Op::remove(service.path_of(node))];
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "the weight"),
            )
            .fix(Fix::patch(&service.id, patch));
        }
    }
}
