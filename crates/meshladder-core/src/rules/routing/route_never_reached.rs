//! See the page beside this file.

use super::action::Action;
use super::effect::{self, serving, sidecar};
use super::http_route::{Call, shadow};
use super::json;
use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::{Mesh, Stored};
use crate::rules::{Asked, Check, Facts, Rule, Sink};
use crate::sim::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0607",
    name: "route-never-reached",
    aka: &["IST0130", "IST0131"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every route of a VirtualService can be reached",
    needs: &["k8s/virtualservices.networking.istio.io.json"],
    uses: effect::USES,
    explains: &[],
    docs: include_str!("route_never_reached.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(asked) = asked else {
        for service in mesh.objects.of_kind("VirtualService") {
            out.examined();
            for (place, earlier) in shadowed(mesh, service) {
                find(service, place, earlier, out);
            }
        }
        return;
    };
    let client = sidecar(mesh, asked);
    for service in serving(mesh, asked, client) {
        out.examined();
        let call = Call::of(asked, client);
        for (place, earlier) in shadowed(mesh, service) {
            // Only what this request would take is asked about.
            if call.fits(&service.spec_list("http")[place]) == Tri::Yes {
                let finding = find(service, place, earlier, out);
                finding.hits.extend(client.map(|pod| pod.id.clone()));
                let failed = asked.seen.is_some_and(|seen| !seen.is_success() && seen.code != 404);
                if failed {
                    finding.severity(Severity::Info);
                }
            }
        }
    }
}

/// The routes that an earlier one keeps all requests from and that would do something else, each with that one.
fn shadowed(mesh: &Mesh, service: &Stored) -> Vec<(usize, usize)> {
    let routes = service.spec_list("http");
    let action = |route: &Node| Action::of(mesh, service, route, 0);
    let shadows = (1..routes.len()).filter_map(|place| Some((place, shadow(routes, place)?)));
    shadows.filter(|(place, earlier)| action(&routes[*place]) != action(&routes[*earlier])).collect()
}

fn find<'o>(service: &Stored, place: usize, earlier: usize, out: &'o mut Sink) -> &'o mut crate::finding::Finding {
    let routes = service.spec_list("http");
    let message = format!(
        "{} of {} is never reached: {} before it takes every request that it would",
        called(routes, place),
        service.id,
        called(routes, earlier)
    );
    let proof = Evidence::of(service, &routes[place], "the route that is never reached");
    let finding = out.find(service.id.clone(), message, proof);
    finding.see(Evidence::of(service, &routes[earlier], "the route that takes its requests; the first match wins"));
    let mut order: Vec<String> = routes.iter().map(json::text).collect();
    let moved = order.remove(place);
    order.insert(earlier, moved);
    finding.fix(Fix::merge(&service.id, format!("{{\"spec\":{{\"http\":{}}}}}", json::list(order))));
    finding.fix(Fix::advice("the first route that matches is taken: put the narrow ones first"));
    finding
}

/// `route v2`, or `route 2` without a name.
fn called(routes: &[Node], place: usize) -> String {
    match routes[place].str_at("name") {
        Some(name) => format!("route {name}"),
        None => format!("route {}", place + 1),
    }
}
