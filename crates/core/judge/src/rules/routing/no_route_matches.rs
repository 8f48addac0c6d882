//! See the page beside this file.

use super::effect::{self, authority, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_sim::trace::EndKind;

pub(super) static RULE: Rule = Rule {
    code: "ML0613",
    name: "no-route-matches",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "a route of the VirtualService that has the host matches the request",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("no_route_matches.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let client = sidecar(facts.mesh, case);
    let call = RouteCall::of(case, client);
    let services = serving(facts.mesh, case, client);
    out.examined += services.len();
    let not_routed =
        case.trace.outcome.kind == EndKind::NoRoute && !case.seen.is_some_and(Symptom::is_success);
    if !not_routed
        || services
            .iter()
            .any(|service| !matches!(call.takes(service), Taken::Nothing))
    {
        return;
    }
    let Some(service) = services
        .first()
        .filter(|service| !service.spec_list("http").is_empty())
    else {
        return;
    };
    let message = format!(
        "{} has no route for {} {} on {}",
        service.id,
        call.method,
        call.path.split('?').next().unwrap_or_default(),
        authority(case)
    );
    let http = service.spec_at(["http"]).unwrap_or(&service.node);
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, http, "none of these matches the request"),
    );
    finding.hits.extend(client.map(|pod| pod.id.clone()));
    for other in services.iter().skip(1) {
        let http = other.spec_at(["http"]).unwrap_or(&other.node);
        finding.see(Evidence::of(other, http, "none of these matches either"));
    }
    finding.fix(Fix::advice(
        "add a route that matches it, at the end one without `match` for all the rest",
    ));
    finding.fix(Fix::advice(
        "or send what a route matches: see the `match` of each",
    ));
}
