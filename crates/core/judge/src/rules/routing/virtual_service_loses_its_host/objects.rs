//! As the objects alone show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::scopes;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::traffic::{binds_mesh, hosts};

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut of_scope: BTreeMap<(&str, String), Vec<&Object>> = BTreeMap::new();
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::VirtualService)
        .iter()
        .filter(|service| binds_mesh(service))
    {
        out.examined();
        let scopes = scopes(facts.mesh, service);
        for (_, host) in hosts(service, &facts.mesh.domain) {
            for scope in &scopes {
                of_scope
                    .entry((scope, host.clone()))
                    .or_default()
                    .push(service);
            }
        }
    }
    let mut told = BTreeSet::new();
    for ((scope, host), services) in &of_scope {
        let mut rivals = services.clone();
        if *scope != "*" {
            rivals.extend(
                patterns(host)
                    .filter_map(|pattern| of_scope.get(&("*", pattern)))
                    .flatten(),
            );
        }
        for service in &rivals {
            let Some(other) = rivals.iter().find(|other| other.id != service.id) else {
                continue;
            };
            if told.insert(&service.id) {
                let message = format!(
                    "{} and {} both have {host} for sidecars, and only one of them counts",
                    service.id, other.id
                );
                let node = service.spec_at(["hosts"]).unwrap_or(&service.node);
                out.find(
                    service.id.clone(),
                    message,
                    Evidence::of(service, node, "its hosts"),
                )
                .fix(Fix::advice("make them one, or keep them apart by exportTo"));
            }
        }
    }
}

/// The host itself and the wildcards that cover it.
fn patterns(host: &str) -> impl Iterator<Item = String> {
    let own = host.strip_prefix('*').unwrap_or(host);
    let wildcards = own
        .match_indices('.')
        .map(|(at, _)| format!("*{}", &own[at..]));
    std::iter::once(host.to_owned()).chain(wildcards.filter(move |wildcard| wildcard != host))
}
