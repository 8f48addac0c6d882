//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::traffic::{binds_mesh, hosts, routes};
use meshladder_mesh::{Cluster, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1215",
    name: "routes-differ",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "a host that several clusters serve is routed alike in all of them",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]).and(&[Part::Istiod]),
    explains: &[],
    docs: include_str!("routes_differ.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    match &crossing.request {
        Some(request) => {
            let Some(service) = request.service_in(request.home) else {
                return;
            };
            let host = request
                .home
                .mesh
                .domain
                .service(service.name(), service.namespace());
            out.examined();
            of_host(crossing, request.home, &host, out);
        }
        None => {
            for home in crossing.clusters.iter() {
                for service in home.mesh.services.iter() {
                    let host = home.mesh.domain.service(&service.name, &service.namespace);
                    out.examined();
                    of_host(crossing, home, &host, out);
                }
            }
        }
    }
}

/// What routes a host elsewhere and not here, or otherwise here.
fn of_host(crossing: &Crossing<'_>, home: &Cluster, host: &str, out: &mut Sink) {
    // A cluster without an istiod of its own is told its routes by another's.
    if !joint::has_istiod(home) {
        return;
    }
    let own = routes_of(home, host);
    for other in crossing
        .clusters
        .others(home)
        .filter(|other| joint::has_istiod(other))
    {
        for theirs in routes_of(other, host) {
            let namesake = own.iter().find(|mine| mine.id == theirs.id);
            if namesake.is_some_and(|mine| {
                mine.spec().map(Node::to_json) == theirs.spec().map(Node::to_json)
            }) {
                continue;
            }
            // Routes of another name may do the same.
            if namesake.is_none() && !own.is_empty() {
                continue;
            }
            let message = match namesake {
                Some(_) => format!(
                    "{} says other things in {} than in {}, so callers of {host} are routed by the cluster they are in",
                    theirs.id, home.name, other.name
                ),
                None => format!(
                    "{} is in {} and not in {}: each istiod reads the routes of its own cluster, so callers of {host} in {} are not routed by it",
                    theirs.id, other.name, home.name, home.name
                ),
            };
            let proof = match namesake {
                Some(mine) => {
                    let node = mine.spec().unwrap_or(&mine.node);
                    joint::of(
                        home,
                        Evidence::of(mine, node, format!("as it is in {}", home.name)),
                    )
                }
                None => {
                    let shows = format!("no VirtualService is for {host}");
                    joint::list_of(home, Kind::VirtualService, shows)
                }
            };
            let node = theirs.spec().unwrap_or(&theirs.node);
            let shows = format!("as it is in {}", other.name);
            let finding = crossing.find(out, home, theirs.id.clone(), message, proof);
            // Both may be meant: it is told as an answer only to who asks about the host.
            let is_routed_away = namesake
                .into_iter()
                .chain([&theirs])
                .any(|one| chooses(one));
            finding.severity(match &crossing.request {
                Some(_) if is_routed_away => Severity::Warning,
                _ => Severity::Info,
            });
            finding
                .see(joint::of(other, Evidence::of(theirs, node, shows)))
                .fix(Fix::advice(format!(
                    "make {} the same in {} and {}",
                    theirs.id, home.name, other.name
                )));
        }
    }
}

/// Whether a VirtualService has a say in where requests go, or how they are answered; timeouts and
/// retries have none.
fn chooses(service: &Object) -> bool {
    const ACTIONS: [&str; 6] = [
        "fault",
        "redirect",
        "directResponse",
        "rewrite",
        "mirror",
        "delegate",
    ];
    routes(service).any(|route| {
        let leads = route.items_at("route");
        let has_subset = |lead: &Node| lead.at(["destination", "subset"]).is_some();
        leads.len() > 1
            || leads.iter().any(has_subset)
            || ACTIONS.iter().any(|action| route.get(action).is_some())
            || route.get("match").is_some()
    })
}

/// The VirtualServices that sidecars route a host by.
fn routes_of<'m>(cluster: &'m Cluster, host: &str) -> Vec<&'m Object> {
    let mut found = Vec::new();
    for object in cluster.mesh.objects.of_kind(Kind::VirtualService) {
        let is_for = hosts(object, &cluster.mesh.domain).any(|(_, own)| own == host);
        if is_for && binds_mesh(object) {
            found.push(object);
        }
    }
    found
}
