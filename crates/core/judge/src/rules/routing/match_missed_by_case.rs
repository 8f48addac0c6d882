//! See the page beside this file.

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_sim::Tri;
use meshladder_sim::trace::EndKind;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0628",
    name: "match-missed-by-case",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "no route misses the request by upper and lower case alone",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &["ML0613"],
    docs: include_str!("match_missed_by_case.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let client = sidecar(facts.mesh, case);
    let call = RouteCall::of(case, client);
    for service in serving(facts.mesh, case, client) {
        out.examined();
        if let Some(route) = missed(&call, service) {
            tell(case, service, route, client, out);
        }
    }
}

/// The first route that stands before the one that is taken, and fits but for letter case.
fn missed<'m>(call: &RouteCall<'_>, service: &'m Object) -> Option<&'m Node> {
    let routes = service.spec_list("http");
    let before = match call.takes(service) {
        Taken::Route(place, _) => place,
        Taken::Nothing => routes.len(),
        Taken::Unknown => return None,
    };
    let loose = RouteCall {
        ignores_case: true,
        ..call.clone()
    };
    routes[..before]
        .iter()
        .find(|route| loose.fits(route) == Tri::Yes)
}

fn tell(case: &Case<'_>, service: &Object, route: &Node, client: Option<&Object>, out: &mut Sink) {
    let name = route
        .str_at("name")
        .map_or_else(|| "a route".to_owned(), |name| format!("route {name}"));
    let message = format!(
        "{name} of {} would take the request but for upper and lower case",
        service.id
    );
    let at = route.get("match").unwrap_or(route);
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, at, "what it matches"),
    );
    finding.hits.extend(client.map(|pod| pod.id.clone()));
    // Who says that the request went well asks why it went as it did.
    let is_missed = case.seen.is_some_and(Symptom::is_success)
        || case.saw(404)
        || case.trace.outcome.kind == EndKind::NoRoute;
    if !is_missed {
        finding.severity(Severity::Info);
    }
    finding.fix(Fix::advice(
        "write the value as it is sent; for paths `ignoreUriCase: true` overlooks case, for headers a regex with (?i)",
    ));
}
