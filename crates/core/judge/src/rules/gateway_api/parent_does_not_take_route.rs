//! See the page beside this file.

use super::references::{Reference, parents, routes};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds_in;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::host::overlaps;
use meshladder_mesh::services::number;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3001",
    name: "parent-does-not-take-route",
    aka: &["KIA1401"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every route is taken by the Gateways it is for",
    needs: Inputs::of(&[Kind::K8sGateway, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::HttpRoute,
        Kind::GrpcRoute,
        Kind::TcpRoute,
        Kind::TlsRoute,
    ]),
    explains: &[],
    docs: include_str!("parent_does_not_take_route.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for route in routes(facts.mesh) {
        let gateways = parents(route).filter(Reference::is_gateway);
        for parent in gateways.filter(|parent| holds_in(facts, Kind::K8sGateway, parent.namespace))
        {
            out.examined();
            let Some(why) = refusal(facts.mesh, route, &parent) else {
                continue;
            };
            let message = format!(
                "{} is for Gateway {}/{}, {why}",
                route.id, parent.namespace, parent.name
            );
            out.find(
                route.id.clone(),
                message,
                Evidence::of(route, parent.node, "what it is for"),
            )
            .fix(Fix::advice(
                "name a Gateway and a listener that takes routes of this namespace",
            ));
        }
    }
}

/// Why a Gateway does not take a route; none when it does.
fn refusal(mesh: &Mesh, route: &Object, parent: &Reference<'_>) -> Option<String> {
    let gateway = mesh
        .objects
        .get(Kind::K8sGateway, parent.namespace, parent.name);
    let Some(gateway) = gateway else {
        return Some("and there is none".to_owned());
    };
    let (section, port) = (
        parent.node.str_at("sectionName"),
        parent.node.get("port").and_then(number),
    );
    let is_meant = |listener: &&Node| {
        section.is_none_or(|section| listener.str_at("name") == Some(section))
            && port.is_none_or(|port| listener.get("port").and_then(number) == Some(port))
    };
    let listeners: Vec<&Node> = gateway
        .spec_list("listeners")
        .iter()
        .filter(is_meant)
        .collect();
    if listeners.is_empty() {
        return Some("which has no such listener".to_owned());
    }
    let allowing: Vec<_> = listeners
        .into_iter()
        .filter(|one| allows(mesh, gateway, one, route))
        .collect();
    if allowing.is_empty() {
        return Some(format!(
            "whose listeners do not take a {} of namespace {}",
            route.id.kind, route.id.namespace
        ));
    }
    let takes = |listener: &&Node| {
        let Some(hostname) = listener.str_at("hostname").filter(|name| !name.is_empty()) else {
            return true;
        };
        let hostnames = route.spec_list("hostnames");
        hostnames.is_empty()
            || route
                .spec_strings("hostnames")
                .any(|own| overlaps(hostname, own))
    };
    (!allowing.iter().any(takes)).then(|| "whose listeners are for other hostnames".to_owned())
}

/// Whether a listener takes routes of the kind and from the namespace. What cannot be told is taken
/// for allowed.
fn allows(mesh: &Mesh, gateway: &Object, listener: &Node, route: &Object) -> bool {
    let kinds = listener
        .at(["allowedRoutes", "kinds"])
        .map_or(&[][..], Node::items);
    let is_kind = kinds.is_empty()
        || kinds
            .iter()
            .any(|kind| kind.str_at("kind") == Some(&route.id.kind));
    let namespaces = listener.at(["allowedRoutes", "namespaces"]);
    is_kind
        && match namespaces
            .and_then(|namespaces| namespaces.str_at("from"))
            .unwrap_or("Same")
        {
            "Same" => route.id.namespace == gateway.id.namespace,
            "None" => false,
            "Selector" => {
                let selector = namespaces.and_then(|namespaces| namespaces.get("selector"));
                let object = mesh.objects.get(Kind::Namespace, "", &route.id.namespace);
                object
                    .zip(selector)
                    .is_none_or(|(object, selector)| object.accepted_by(selector))
            }
            _ => true,
        }
}
