//! See the page beside this file.

use super::meets::{client, hit_ends, is_captured, service};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::ambient::waypoint::{USE_WAYPOINT, WaypointBinding};
use meshladder_mesh::references;
use meshladder_mesh::views::VirtualService;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML4022",
    name: "route-without-waypoint",
    aka: &["KIA1113"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every Service that routes are for has a waypoint to follow them",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::HttpRoute,
        Kind::GrpcRoute,
        Kind::TcpRoute,
        Kind::TlsRoute,
        Kind::VirtualService,
        Kind::GatewayClass,
        Kind::ConfigMap,
    ]),
    explains: &["ML06", "ML10"],
    docs: include_str!("route_without_waypoint.md"),
    check: Check::Either(check),
};

const ROUTES: [Kind; 4] = [
    Kind::HttpRoute,
    Kind::GrpcRoute,
    Kind::TcpRoute,
    Kind::TlsRoute,
];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if let Some(case) = case
        && !client(facts, case).is_some_and(|pod| is_captured(facts, pod))
    {
        return;
    }
    let called = case.map(|case| service(facts, case));
    for (route, part, to) in routes(facts) {
        if called.is_some_and(|called| called.is_none_or(|called| called.id != to.id)) {
            continue;
        }
        out.examined();
        let is_bare = matches!(facts.mesh.service_waypoint(to), WaypointBinding::None);
        let pods = facts.mesh.selected_pods(to);
        if !is_bare || !pods.iter().any(|pod| is_captured(facts, pod)) {
            continue;
        }
        let message = format!(
            "{} is for {}, which has no waypoint: ztunnel knows no routes, and nobody follows it",
            route.id, to.id
        );
        // A label of the Service's own outweighs that of its namespace.
        let own = to.labels().and_then(|labels| labels.get(USE_WAYPOINT));
        let subject = if own.is_some() { &to.id } else { &route.id };
        let proof = Evidence::of(route, part, "what it is for");
        let finding = match own {
            Some(label) => {
                let shows = "the Service's own label outweighs its namespace's";
                let finding = out.find(subject.clone(), message, Evidence::of(to, label, shows));
                finding.see(proof);
                finding
            }
            None => out.find(subject.clone(), message, proof),
        };
        finding.hits(to.id.clone());
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice(format!(
            "deploy a waypoint in {} and name it with {USE_WAYPOINT} on the Service or its namespace",
            to.id.namespace
        )));
    }
}

/// Every route for a Service: the object, the part that says so, and the Service.
fn routes<'f>(facts: &Facts<'f>) -> Vec<(&'f Object, &'f Node, &'f Object)> {
    let mesh = facts.mesh;
    let mut found = Vec::new();
    for kind in ROUTES {
        for route in mesh.objects.of_kind(kind) {
            for parent in references::parents(route).filter(references::Reference::is_service) {
                if let Some(to) = mesh.service(parent.namespace, parent.name) {
                    found.push((route, parent.node, to));
                }
            }
        }
    }
    for service in VirtualService::all(&mesh.objects) {
        let of_mesh = service
            .object
            .spec_strings("gateways")
            .any(|name| name == "mesh")
            || service.object.spec_list("gateways").is_empty();
        if !of_mesh {
            continue;
        }
        for node in service.object.spec_list("hosts") {
            let host = node.str().unwrap_or_default();
            let named = mesh.service_named(host, service.namespace());
            let to = named.and_then(|named| mesh.service(&named.namespace, &named.name));
            if let Some(to) = to {
                found.push((service.object, node, to));
            }
        }
    }
    found
}
