//! See the page beside this file.

use std::collections::BTreeSet;

use super::references::{GROUP, Reference, backends, parents, routes};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds_in;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3002",
    name: "backend-missing",
    aka: &["KIA1402"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Service that a route leads to exists and may be led to",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[
        Kind::HttpRoute,
        Kind::GrpcRoute,
        Kind::TcpRoute,
        Kind::TlsRoute,
        Kind::ReferenceGrant,
    ]),
    explains: &[],
    docs: include_str!("backend_missing.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let grants = grants(facts.mesh);
    for route in routes(facts.mesh) {
        // Routes of the mesh need no grant, only those of gateways.
        let needs_grant = parents(route).any(|parent| !parent.is_service());
        let backends = backends(route).map(|backend| (backend, "leads to", needs_grant));
        let of_mesh = parents(route).map(|parent| (parent, "is for", false));
        for (to, verb, needs_grant) in backends.chain(of_mesh).filter(|(to, ..)| to.is_service()) {
            out.examined();
            let Some((why, advice)) = fault(facts, &grants, route, &to, needs_grant) else {
                continue;
            };
            let message = format!(
                "{} {verb} Service {}/{}, {why}",
                route.id, to.namespace, to.name
            );
            out.find(
                route.id.clone(),
                message,
                Evidence::of(route, to.node, "the Service"),
            )
            .fix(Fix::advice(advice));
        }
    }
}

fn fault(
    facts: &Facts<'_>,
    grants: &BTreeSet<Grant<'_>>,
    route: &Object,
    to: &Reference<'_>,
    needs_grant: bool,
) -> Option<(&'static str, &'static str)> {
    if to.name.contains('.') {
        return Some((
            "whose name is written as a host",
            "write the bare name, and the namespace beside it",
        ));
    }
    if facts.mesh.service(to.namespace, to.name).is_none() {
        // Of a namespace that files hold no Service of, nothing is known.
        return holds_in(facts, Kind::Service, to.namespace)
            .then_some(("and there is none", "name a Service that exists"));
    }
    let is_elsewhere = to.namespace != route.id.namespace;
    let is_refused =
        is_elsewhere && needs_grant && holds_in(facts, Kind::ReferenceGrant, to.namespace);
    (is_refused && !is_granted(grants, route, to)).then_some((
        "and no ReferenceGrant there lets it",
        "add a ReferenceGrant to the namespace of the Service",
    ))
}

/// Which routes may lead where: the Services' namespace, the routes' kind and namespace, and the
/// Service, or none for all of them.
type Grant<'m> = (&'m str, &'m str, &'m str, Option<&'m str>);

/// Any entry of `from` with any of `to` will do.
fn grants(mesh: &Mesh) -> BTreeSet<Grant<'_>> {
    let mut found = BTreeSet::new();
    for grant in mesh.objects.of_kind(Kind::ReferenceGrant) {
        let is_from = |from: &&Node| from.str_at("group") == Some(GROUP);
        for from in grant.spec_list("from").iter().filter(is_from) {
            let (Some(kind), Some(namespace)) = (from.str_at("kind"), from.str_at("namespace"))
            else {
                continue;
            };
            let to = grant
                .spec_list("to")
                .iter()
                .filter(|to| to.str_at("kind") == Some("Service"));
            let names = to.map(|to| to.str_at("name").filter(|name| !name.is_empty()));
            found.extend(names.map(|name| (grant.id.namespace.as_str(), kind, namespace, name)));
        }
    }
    found
}

fn is_granted(grants: &BTreeSet<Grant<'_>>, route: &Object, to: &Reference<'_>) -> bool {
    let to_name = |name| {
        grants.contains(&(
            to.namespace,
            route.id.kind.as_str(),
            route.id.namespace.as_str(),
            name,
        ))
    };
    to_name(None) || to_name(Some(to.name))
}
