//! See the page beside this file.

use std::collections::BTreeMap;

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
    // A cluster without an istiod of its own is told its routes by another's.
    let routes: Vec<_> = crossing
        .clusters
        .iter()
        .filter(|cluster| joint::has_istiod(cluster))
        .map(Routes::of)
        .collect();
    for home in &routes {
        let is_asked = crossing
            .request
            .is_none_or(|request| request.home.name == home.cluster.name);
        if !is_asked {
            continue;
        }
        let asked = crossing.request.and_then(|request| {
            let service = request.service_in(request.home)?;
            let domain = &request.home.mesh.domain;
            Some(domain.service(service.name(), service.namespace()))
        });
        for other in routes
            .iter()
            .filter(|other| other.cluster.name != home.cluster.name)
        {
            for (host, theirs) in &other.by_host {
                let is_meant = match (&crossing.request, &asked) {
                    (Some(_), asked) => asked.as_ref() == Some(host),
                    (None, _) => home.cluster.mesh.service_of_host(host).is_some(),
                };
                if is_meant {
                    out.examined();
                    of_host(crossing, host, home, (other.cluster, theirs), out);
                }
            }
        }
    }
}

/// The VirtualServices that sidecars of a cluster route by, by host.
struct Routes<'m> {
    cluster: &'m Cluster,
    by_host: BTreeMap<String, Vec<&'m Object>>,
}

impl<'m> Routes<'m> {
    fn of(cluster: &'m Cluster) -> Self {
        let mut by_host: BTreeMap<String, Vec<&Object>> = BTreeMap::new();
        for object in cluster.mesh.objects.of_kind(Kind::VirtualService) {
            if !binds_mesh(object) {
                continue;
            }
            for (_, host) in hosts(object, &cluster.mesh.domain) {
                by_host.entry(host).or_default().push(object);
            }
        }
        Self { cluster, by_host }
    }
}

/// What routes a host elsewhere and not here, or otherwise here.
fn of_host(
    crossing: &Crossing<'_>,
    host: &str,
    routes: &Routes<'_>,
    (other, all_theirs): (&Cluster, &[&Object]),
    out: &mut Sink,
) {
    let home = routes.cluster;
    let own = routes.by_host.get(host).map_or(&[][..], Vec::as_slice);
    for &theirs in all_theirs {
        let namesake = own.iter().find(|mine| mine.id == theirs.id);
        if namesake
            .is_some_and(|mine| mine.spec().map(Node::to_json) == theirs.spec().map(Node::to_json))
        {
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
        let proof = if let Some(mine) = namesake {
            let node = mine.spec().unwrap_or(&mine.node);
            joint::of(
                home,
                Evidence::of(mine, node, format!("as it is in {}", home.name)),
            )
        } else {
            let shows = format!("no VirtualService is for {host}");
            joint::list_of(home, Kind::VirtualService, shows)
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
