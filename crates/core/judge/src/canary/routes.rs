//! The weights of HTTPRoutes: those attached to a Service, which is traffic inside the mesh, and
//! those attached to a Gateway.

use super::weights::{Label, Split, VersionWeight, normal};
use meshladder_capture::Kind;
use meshladder_mesh::references::{Reference, parents};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

/// The split that an HTTPRoute makes of calls to a Service; none when no route has to do with it.
pub(super) fn configured(
    mesh: &Mesh,
    namespace: &str,
    name: &str,
) -> Option<Result<Split, String>> {
    if let Some(route) = of_service(mesh, namespace, name).next() {
        return Some(split(route, None));
    }
    // From outside nobody calls the Service: the route at the gateway leads to it, beside others.
    let leads_here = |route: &&Object| {
        let rule = route
            .spec_list("rules")
            .iter()
            .find(|rule| is_unconditional(rule));
        rule.is_some_and(|rule| {
            let backends = backends(route, rule);
            backends.len() > 1
                && backends
                    .iter()
                    .any(|to| to.namespace == namespace && to.name == name)
        })
    };
    let at_gateway = |route: &&Object| parents(route).any(|parent| parent.is_gateway());
    let route = accepted(mesh)
        .into_iter()
        .filter(at_gateway)
        .find(leads_here)?;
    let gateway = parents(route).find(Reference::is_gateway)?;
    Some(split(
        route,
        Some(&format!("{}/{}", gateway.namespace, gateway.name)),
    ))
}

/// The routes that are attached to a Service by its own namespace, the oldest first: "producer
/// routes", which hold for every caller.
pub(super) fn of_service<'m>(
    mesh: &'m Mesh,
    namespace: &str,
    name: &str,
) -> impl Iterator<Item = &'m Object> {
    let is_it = move |parent: Reference<'_>| {
        parent.is_service() && parent.namespace == namespace && parent.name == name
    };
    let here = move |route: &&Object| route.id.namespace == namespace && parents(route).any(is_it);
    accepted(mesh)
        .into_iter()
        .filter(here)
        .collect::<Vec<_>>()
        .into_iter()
}

/// HTTPRoutes that nobody has turned down, the oldest first.
fn accepted(mesh: &Mesh) -> Vec<&Object> {
    let is_refused = |parent: &Node| {
        let conditions = parent.items_at("conditions").iter();
        let mut refused = conditions.filter(|c| {
            c.str_at("type") == Some("Accepted") && c.str_at("status") == Some("False")
        });
        refused.next().is_some()
    };
    let is_taken = |route: &&Object| {
        let told = route
            .node
            .at(["status", "parents"])
            .map_or(&[][..], Node::items);
        told.is_empty() || !told.iter().all(is_refused)
    };
    let mut found: Vec<&Object> = mesh
        .objects
        .of_kind(Kind::HttpRoute)
        .iter()
        .filter(is_taken)
        .collect();
    found.sort_by_key(|route| (route.created(), &route.id));
    found
}

fn split(route: &Object, gateway: Option<&str>) -> Result<Split, String> {
    let told = format!("HTTPRoute {}/{}", route.id.namespace, route.id.name);
    let rules = route.spec_list("rules");
    let default = rules.iter().position(is_unconditional);
    let default = default.ok_or_else(|| format!("{told} has no rule without conditions"))?;
    let mut parts: Vec<VersionWeight> = Vec::new();
    for to in backends(route, &rules[default]) {
        if !to.is_service() {
            return Err(format!(
                "{told} leads to {} {}, which is no Service",
                to.kind, to.name
            ));
        }
        let share = weight(to.node);
        match parts.iter_mut().find(|part| part.name == to.name) {
            Some(part) => part.share += share,
            None => parts.push(VersionWeight {
                name: to.name.to_owned(),
                share,
            }),
        }
    }
    if parts.is_empty() {
        return Err(format!(
            "the rule of {told} without conditions leads nowhere"
        ));
    }
    let parts = normal(parts).ok_or_else(|| format!("all weights of {told} are 0"))?;
    let mut notes = Vec::new();
    if rules.len() > 1 {
        notes.push(format!(
            "{} rules of {told} have conditions, and what they take is counted too",
            rules.len() - 1
        ));
    }
    notes.extend(gateway.map(|gateway| {
        format!("{told} is for requests through Gateway {gateway}; calls from inside the mesh are counted too")
    }));
    Ok(Split {
        label: Label::Service,
        parts,
        by: told,
        notes,
    })
}

fn backends<'m>(route: &'m Object, rule: &'m Node) -> Vec<Reference<'m>> {
    rule.items_at("backendRefs")
        .iter()
        .map(|node| Reference::of(route, node, "", "Service"))
        .collect()
}

/// "If no matches are specified, the default is a prefix path match on `/`".
fn is_unconditional(rule: &Node) -> bool {
    let is_all = |condition: &Node| {
        condition.members().iter().all(|member| {
            let path = &member.value;
            let is_prefix = path.str_at("type").is_none_or(|kind| kind == "PathPrefix");
            &*member.key == "path"
                && is_prefix
                && path.str_at("value").is_none_or(|value| value == "/")
        })
    };
    let conditions = rule.items_at("matches");
    conditions.is_empty() || conditions.iter().any(is_all)
}

/// "If unspecified, weight defaults to 1."
fn weight(backend: &Node) -> f64 {
    let written = backend.get("weight").and_then(|node| match &node.value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    });
    written.unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::tests::split;

    fn route(parent: &str, rules: &str, status: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: catalog, namespace: shop}}\nspec: {{ports: [{{port: 80}}]}}\n---\n\
             apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: split, namespace: shop}}\n\
             spec: {{parentRefs: [{parent}], rules: {rules}}}\nstatus: {status}\n"
        )
    }

    const SERVICE: &str = "{group: '', kind: Service, name: catalog}";
    const RULES: &str = "[{matches: [{headers: [{name: beta, value: 'yes'}]}], backendRefs: [{name: catalog-v2, port: 80}]}, \
                         {matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: catalog-v1, port: 80, weight: 3}, {name: catalog-v2, port: 80}]}]";

    fn shares(split: &Split) -> Vec<(&str, f64)> {
        split
            .parts
            .iter()
            .map(|part| (part.name.as_str(), part.share))
            .collect()
    }

    #[test]
    fn a_route_attached_to_a_service_splits_its_calls() {
        let split = split(&route(SERVICE, RULES, "{}")).expect("a split");
        assert_eq!(
            (split.label, shares(&split)),
            (
                Label::Service,
                vec![("catalog-v1", 0.75), ("catalog-v2", 0.25)]
            )
        );
        assert_eq!(
            (split.by.as_str(), split.notes.len()),
            ("HTTPRoute shop/split", 1)
        );
    }

    #[test]
    fn a_route_at_a_gateway_splits_what_comes_through_it() {
        let rules = "[{backendRefs: [{name: catalog, port: 80, weight: 90}, {name: catalog-next, port: 80, weight: 10}]}]";
        let split = split(&route("{name: entry}", rules, "{}")).expect("a split");
        assert_eq!(shares(&split), [("catalog", 0.9), ("catalog-next", 0.1)]);
        assert!(
            split.notes[0].contains("through Gateway shop/entry"),
            "{:?}",
            split.notes
        );
    }

    #[test]
    fn what_does_not_hold_splits_nothing() {
        let refused = "{parents: [{conditions: [{type: Accepted, status: 'False'}]}]}";
        for (text, why) in [
            (
                route(SERVICE, RULES, refused),
                "no VirtualService and no HTTPRoute",
            ),
            (
                route("{group: '', kind: Service, name: other}", RULES, "{}"),
                "no VirtualService and no HTTPRoute",
            ),
            (
                route(
                    SERVICE,
                    "[{matches: [{method: GET}], backendRefs: [{name: a}]}]",
                    "{}",
                ),
                "without conditions",
            ),
            (
                route(SERVICE, "[{backendRefs: [{name: a, weight: 0}]}]", "{}"),
                "are 0",
            ),
            (
                route(
                    SERVICE,
                    "[{backendRefs: [{name: a, kind: ServiceImport, group: multicluster.x-k8s.io}]}]",
                    "{}",
                ),
                "no Service",
            ),
        ] {
            let told = split(&text).expect_err(why);
            assert!(told.contains(why), "{told}");
        }
    }
}
