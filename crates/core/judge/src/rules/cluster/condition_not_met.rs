//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3701",
    name: "condition-not-met",
    aka: &["IST0171"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "istiod accepted every object",
    needs: Inputs::NONE,
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::K8sGateway,
        Kind::GrpcRoute,
        Kind::HttpRoute,
        Kind::Service,
        Kind::ServiceEntry,
        Kind::WorkloadEntry,
    ]),
    explains: &[],
    docs: include_str!("condition_not_met.md"),
    check: Check::Object(check),
};

const GATEWAY_API: [&str; 3] = ["Accepted", "Programmed", "ResolvedRefs"];

/// Kinds, and the conditions of theirs that are looked at.
const LOOKED_AT: [(Kind, &[&str]); 7] = [
    (Kind::Service, &["istio.io/WaypointBound"]),
    (Kind::ServiceEntry, &["istio.io/WaypointBound"]),
    (Kind::WorkloadEntry, &["istio.io/WaypointBound"]),
    (
        Kind::AuthorizationPolicy,
        &["ZtunnelAccepted", "WaypointAccepted"],
    ),
    (Kind::K8sGateway, &GATEWAY_API),
    (Kind::HttpRoute, &GATEWAY_API),
    (Kind::GrpcRoute, &GATEWAY_API),
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (kind, types) in LOOKED_AT {
        for object in facts.mesh.objects.of_kind(kind) {
            out.examined();
            for condition in conditions(object).filter(|condition| is_bad(condition, types)) {
                let text = |key: &str| condition.str_at(key).unwrap_or_default();
                let detail = [text("reason"), text("message")]
                    .into_iter()
                    .filter(|text| !text.is_empty());
                let detail: Vec<&str> = detail.map(|text| text.trim_end_matches('.')).collect();
                let message = format!(
                    "{} is not {}: {}",
                    object.id,
                    text("type"),
                    detail.join(", ")
                );
                out.find(
                    object.id.clone(),
                    message,
                    Evidence::of(object, condition, "the condition"),
                )
                .fix(Fix::advice("change what the condition complains of"));
            }
        }
    }
}

/// Its own conditions; a route has some for each parent.
fn conditions(object: &Object) -> impl Iterator<Item = &Node> {
    let status = object.node.get("status");
    let own = status
        .map_or(&[][..], |status| list(status, "conditions"))
        .iter();
    let parents = status
        .map_or(&[][..], |status| list(status, "parents"))
        .iter();
    own.chain(parents.flat_map(|parent| list(parent, "conditions")))
}

/// A policy that is accepted in part only says so in the reason.
fn is_bad(condition: &Node, types: &[&str]) -> bool {
    let kind = condition.str_at("type").unwrap_or_default();
    let is_partial =
        kind == "WaypointAccepted" && condition.str_at("reason") == Some("PartiallyInvalid");
    types.contains(&kind) && (condition.str_at("status") == Some("False") || is_partial)
}
