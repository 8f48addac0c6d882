//! See the page beside this file.

use super::action::Action;
use super::effect;
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::host::{covers, overlaps};
use meshladder_mesh::scope::{Scope, is_router};
use meshladder_mesh::services::{is_ready, ports};
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0627",
    name: "wildcard-takes-calls",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "no VirtualService leads calls away from Services that it does not name",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &["ML0622", "ML10"],
    docs: include_str!("wildcard_takes_calls.md"),
    check: Check::Either(check),
};

/// How many Services the message names.
const FEW: usize = 3;

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    if let Some(case) = case {
        out.examined();
        of_request(mesh, case, out);
        return;
    }
    for service in mesh.objects.of_kind(Kind::VirtualService) {
        // That `*` is for gateways only has a rule of its own.
        for (host, full) in hosts(service, &facts.mesh.domain).filter(|(_, full)| full != "*") {
            out.examined();
            let is_foreign = |called: &&Object| called.id.namespace != service.id.namespace;
            let called: Vec<&Object> = if is_wide(mesh, &full) {
                mesh.objects
                    .of_kind(Kind::Service)
                    .iter()
                    .filter(|called| covers(&full, &host_of(mesh, called)))
                    .collect()
            } else {
                mesh.service_of_host(&full)
                    .filter(is_foreign)
                    .into_iter()
                    .collect()
            };
            let taken: Vec<_> = called
                .into_iter()
                .filter_map(|called| taken(mesh, service, called))
                .collect();
            if let Some((_, route)) = taken.first() {
                let taken: Vec<&Object> = taken.iter().map(|(taken, _)| *taken).collect();
                let finding = tell(mesh, service, host, route, &taken, out);
                if !is_wide(mesh, &full) {
                    finding.severity(Severity::Info);
                }
            }
        }
    }
}

/// `*.svc.cluster.local`, `*.shop.svc.cluster.local`, `*.local`: some Service may have such a name.
fn is_wide(mesh: &Mesh, full: &str) -> bool {
    full.starts_with('*') && overlaps(full, &format!("*.svc.{}", mesh.domain.name()))
}

fn of_request(mesh: &Mesh, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = effect::sidecar(mesh, case).filter(|_| case.call.to.scheme == Scheme::Http)
    else {
        return;
    };
    let called = case
        .service
        .and_then(|service| mesh.service(&service.namespace, &service.name));
    let Some(called) = called else { return };
    let Some(winner) = mesh
        .virtual_services(mesh.scope(client), &case.host)
        .into_iter()
        .next()
    else {
        return;
    };
    let covering = hosts(winner, &mesh.domain)
        .find(|(_, full)| full == &case.host || covers(full, &case.host));
    let (Some((host, full)), Taken::Route(_, route)) =
        (covering, RouteCall::of(case, Some(client)).takes(winner))
    else {
        return;
    };
    // A name in full is meant; from a namespace that neither calls nor serves it may surprise.
    let is_foreign = winner.id.namespace != called.id.namespace;
    let seen_well = case.seen.is_some_and(crate::rules::Symptom::is_success);
    if !leads_away(mesh, winner, route, called, case.call.to.port)
        || !(is_wide(mesh, &full) || is_foreign)
    {
        return;
    }
    let finding = tell(mesh, winner, host, route, &[called], out);
    finding.hits(client.id.clone());
    if !is_wide(mesh, &full) && !seen_well {
        finding.severity(Severity::Info);
    }
}

/// A Service with ready pods, when a VirtualService leads its calls to others; with the route.
fn taken<'m>(
    mesh: &'m Mesh,
    service: &'m Object,
    called: &'m Object,
) -> Option<(&'m Object, &'m Node)> {
    let scope = mesh.namespace_scope(&called.id.namespace);
    let port = ports(called)
        .find(|port| port.protocol.is_http())
        .map(|port| port.number)?;
    let route = service
        .spec_list("http")
        .iter()
        .find(|route| takes_all(route))?;
    let is_led_away = leads_away(mesh, service, route, called, port);
    let is_served = mesh.selected_pods(called).iter().any(|pod| is_ready(pod));
    (is_led_away && is_served && owns(mesh, scope, called, service)).then_some((called, route))
}

fn owns(mesh: &Mesh, scope: Scope<'_>, called: &Object, service: &Object) -> bool {
    mesh.virtual_services(scope, &host_of(mesh, called))
        .first()
        .is_some_and(|first| first.id == service.id)
}

fn host_of(mesh: &Mesh, service: &Object) -> String {
    mesh.domain.service(&service.id.name, &service.id.namespace)
}

/// Whether a route has no condition.
fn takes_all(route: &Node) -> bool {
    route
        .get("match")
        .is_none_or(|blocks| blocks.items().is_empty())
}

/// Whether all that a route leads to is another host than the one called, and no gateway, which may
/// lead back.
fn leads_away(mesh: &Mesh, service: &Object, route: &Node, called: &Object, port: u16) -> bool {
    let own = host_of(mesh, called);
    let action = Action::of(mesh, service, route, port);
    let is_gateway = |host: &str| {
        mesh.service_of_host(host)
            .is_some_and(|to| mesh.selected_pods(to).iter().any(|pod| is_router(pod)))
    };
    !action.places.is_empty()
        && action
            .places
            .iter()
            .all(|(place, _)| place.host != own && !is_gateway(&place.host))
}

fn tell<'o>(
    mesh: &Mesh,
    service: &Object,
    host: &Node,
    route: &Node,
    taken: &[&Object],
    out: &'o mut Sink,
) -> &'o mut crate::finding::Finding {
    let action = Action::of(mesh, service, route, 0);
    let mut places: Vec<&str> = action
        .places
        .iter()
        .map(|(place, _)| place.host.as_str())
        .collect();
    places.dedup();
    let names: Vec<String> = taken
        .iter()
        .take(FEW)
        .map(|taken| host_of(mesh, taken))
        .collect();
    let more = if taken.len() > FEW {
        format!(" and {} more", taken.len() - FEW)
    } else {
        String::new()
    };
    let message = format!(
        "{} has host {}, so calls to {}{more} go to {}",
        service.id,
        host.str().unwrap_or_default(),
        names.join(", "),
        places.join(", ")
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, host, "the host that takes them in"),
    );
    finding.see(Evidence::of(service, route, "where they are led"));
    for taken in taken {
        finding.hits(ObjectRef::clone(&taken.id));
        finding.see(Evidence::object(taken, "a Service whose calls it takes"));
        mesh.selected_pods(taken)
            .iter()
            .for_each(|pod| _ = finding.hits(pod.id.clone()));
    }
    finding.fix(Fix::advice(format!(
        "name in {} only the hosts whose calls it should lead",
        service.id
    )));
    finding.fix(Fix::delete(&service.id));
    finding
}
