//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::ObjectRef;
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0625",
    name: "http-route-not-accepted",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every HTTPRoute is taken by the parents that it names, and all it leads to is there",
    needs: Inputs::of(&[Kind::HttpRoute]),
    uses: Inputs::of(&[Kind::K8sGateway, Kind::Service]),
    explains: &[],
    docs: include_str!("http_route_not_accepted.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for route in facts.mesh.objects.of_kind(Kind::HttpRoute) {
        out.examined();
        let refused = refused(route).or_else(|| parentless(facts, route));
        let Some((node, why)) = refused else { continue };
        let message = format!("{} has no effect for one of its parents: {why}", route.id);
        let finding = out.find(route.id.clone(), message, Evidence::of(route, node, why));
        let (namespace, name) = (&route.id.namespace, &route.id.name);
        finding.fix(Fix::look(shell::command(
            "kubectl get httproute {} -n {} -o jsonpath='{.status.parents}'",
            &[name, namespace],
        )));
    }
}

/// What the controller of a parent says against it.
fn refused(route: &Object) -> Option<(&Node, String)> {
    let parents = route
        .node
        .at(["status", "parents"])
        .map_or(&[][..], Node::items);
    let conditions = parents
        .iter()
        .flat_map(|parent| parent.get("conditions").map_or(&[][..], Node::items));
    let is_bad = |condition: &&Node| {
        matches!(condition.str_at("type"), Some("Accepted" | "ResolvedRefs"))
            && condition.str_at("status") == Some("False")
    };
    conditions.into_iter().find(is_bad).map(|condition| {
        let reason = condition.str_at("reason").unwrap_or("no reason given");
        let said = condition
            .str_at("message")
            .unwrap_or_default()
            .trim_end_matches('.');
        (
            condition,
            if said.is_empty() {
                reason.to_owned()
            } else {
                format!("{reason}: {said}")
            },
        )
    })
}

/// A Gateway or Service that it names as its parent and that is not there.
fn parentless<'m>(facts: &Facts<'m>, route: &'m Object) -> Option<(&'m Node, String)> {
    route.spec_list("parentRefs").iter().find_map(|parent| {
        let kind = parent.str_at("kind").unwrap_or("Gateway");
        let name = parent.str_at("name")?;
        let namespace = parent.str_at("namespace").unwrap_or(&route.id.namespace);
        let kind = match kind {
            "Gateway" => Kind::K8sGateway,
            "Service" => Kind::Service,
            _ => return None,
        };
        let is_read = facts.unread(kind).is_none();
        let is_lost = is_read && facts.mesh.objects.get(kind, namespace, name).is_none();
        is_lost.then(|| {
            let id = ObjectRef::of(kind, namespace, name);
            (parent, format!("{id} is not there"))
        })
    })
}
