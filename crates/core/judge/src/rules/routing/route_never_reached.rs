//! See the page beside this file.

use super::action::Action;
use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, is_catch_all, shadow, shadowing};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Mesh, Object};
use meshladder_sim::Tri;
use meshladder_text::tree::{Node, Value};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0607",
    name: "route-never-reached",
    aka: &["IST0130"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every route of a VirtualService can be reached",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("route_never_reached.md"),
    check: Check::Lens(check, objects::ALONE),
};

/// A route that is never reached, and the one that takes its requests.
struct Shadowed<'m> {
    service: &'m Object,
    place: usize,
    by: &'m Object,
    earlier: usize,
}

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(case) = case else {
        for service in mesh.objects.of_kind(Kind::VirtualService) {
            out.examined();
            for shadowed in within(mesh, service) {
                shadowed.find(out);
            }
        }
        for shadowed in at_gateways(mesh) {
            shadowed.find(out);
        }
        return;
    };
    let client = sidecar(mesh, case);
    let serving = serving(mesh, case, client);
    let call = RouteCall::of(case, client);
    let mut found: Vec<Shadowed<'_>> = Vec::new();
    for (place, service) in serving.iter().enumerate() {
        out.examined();
        found.extend(within(mesh, service));
        found.extend(
            serving[..place]
                .iter()
                .flat_map(|older| between(mesh, older, service)),
        );
    }
    // Only what this request would take is asked about.
    for shadowed in found
        .iter()
        .filter(|shadowed| call.fits(shadowed.route()) == Tri::Yes)
    {
        let finding = shadowed.find(out);
        finding.hits.extend(client.map(|pod| pod.id.clone()));
        let failed = case
            .seen
            .is_some_and(|seen| !seen.is_success() && seen.code != 404);
        if failed {
            finding.severity(Severity::Info);
        }
    }
}

/// The routes that an earlier one of the same VirtualService keeps all requests from and that would
/// do something else.
fn within<'m>(mesh: &Mesh, service: &'m Object) -> Vec<Shadowed<'m>> {
    let routes = service.spec_list("http");
    let shadows = (1..routes.len()).filter_map(|place| Some((place, shadow(routes, place)?)));
    let found = shadows.map(|(place, earlier)| Shadowed {
        service,
        place,
        by: service,
        earlier,
    });
    found.filter(|shadowed| shadowed.differs(mesh)).collect()
}

/// At a gateway the VirtualServices for one host are merged, the older one's routes first.
fn at_gateways(mesh: &Mesh) -> Vec<Shadowed<'_>> {
    let mut found: Vec<Shadowed<'_>> = Vec::new();
    for gateway in mesh.objects.of_kind(Kind::Gateway) {
        for server in servers(gateway) {
            let bound = mesh.bound(server, &gateway.id.namespace);
            for (place, service) in bound.iter().enumerate() {
                let older = bound[..place]
                    .iter()
                    .filter(|older| shares_host(mesh, older, service));
                found.extend(older.flat_map(|older| between(mesh, older, service)));
            }
        }
    }
    found.sort_by_key(|shadowed| (&shadowed.service.id, shadowed.place));
    found.dedup_by_key(|shadowed| (&shadowed.service.id, shadowed.place));
    found
}

fn shares_host(mesh: &Mesh, one: &Object, other: &Object) -> bool {
    hosts(one, &mesh.domain)
        .any(|(_, host)| hosts(other, &mesh.domain).any(|(_, full)| full == host))
}

/// The routes of the younger that one of the older keeps all requests from. istiod puts routes that
/// take everything behind all others when it merges, so they stand in the way only of each other.
fn between<'m>(mesh: &Mesh, older: &'m Object, younger: &'m Object) -> Vec<Shadowed<'m>> {
    let routes = older.spec_list("http");
    let by = |route: &Node| {
        if is_catch_all(route) {
            let is_alone = route
                .get("match")
                .is_none_or(|blocks| blocks.items().len() < 2);
            return routes.iter().position(|route| {
                is_alone && is_catch_all(route) && route.get("delegate").is_none()
            });
        }
        shadowing(routes, route).filter(|earlier| !is_catch_all(&routes[*earlier]))
    };
    let all = younger.spec_list("http").iter().enumerate();
    let found = all.filter_map(|(place, route)| {
        Some(Shadowed {
            service: younger,
            place,
            by: older,
            earlier: by(route)?,
        })
    });
    found.filter(|shadowed| shadowed.differs(mesh)).collect()
}

impl Shadowed<'_> {
    fn route(&self) -> &Node {
        &self.service.spec_list("http")[self.place]
    }

    /// Whether the two would do different things.
    fn differs(&self, mesh: &Mesh) -> bool {
        let earlier = &self.by.spec_list("http")[self.earlier];
        Action::of(mesh, self.service, self.route(), 0) != Action::of(mesh, self.by, earlier, 0)
    }

    fn find<'o>(&self, out: &'o mut Sink) -> &'o mut Finding {
        let Self {
            service,
            place,
            by,
            earlier,
        } = *self;
        let (routes, others) = (service.spec_list("http"), by.spec_list("http"));
        let is_same = service.id == by.id;
        let whose = if is_same {
            "before it".to_owned()
        } else {
            format!("of {}, which is older,", by.id)
        };
        let message = format!(
            "{} of {} is never reached: {} {whose} takes every request that it would",
            called(routes, place),
            service.id,
            called(others, earlier)
        );
        let proof = Evidence::of(service, &routes[place], "the route that is never reached");
        let finding = out.find(service.id.clone(), message, proof);
        finding.see(Evidence::of(
            by,
            &others[earlier],
            "the route that takes its requests; the first match wins",
        ));
        let mut order: Vec<&Node> = others.iter().collect();
        let moved = if is_same {
            order.remove(place)
        } else {
            &routes[place]
        };
        order.insert(earlier, moved);
        finding.fix(Fix::merge(&by.id, Value::nested(["spec", "http"], order)));
        finding.fix(Fix::advice(
            "the first route that matches is taken: put the narrow ones first",
        ));
        finding
    }
}

/// `route v2`, or `route 2` without a name.
fn called(routes: &[Node], place: usize) -> String {
    match routes[place].str_at("name") {
        Some(name) => format!("route {name}"),
        None => format!("route {}", place + 1),
    }
}
