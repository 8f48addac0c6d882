//! See the page beside this file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::destination::{self, Destination};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::traffic::hosts;

pub(super) static RULE: Rule = Rule {
    code: "ML2006",
    name: "gateway-route-skips-subsets",
    aka: &["IST0140"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "what sidecars route to subsets, gateways do too",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateway_route_skips_subsets.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let services = facts.mesh.objects.of_kind(Kind::VirtualService);
    let is_for_gateway = |service: &&Object| {
        service
            .spec_strings("gateways")
            .any(|gateway| gateway != "mesh")
    };
    if !services.iter().any(|service| is_for_gateway(&service)) {
        return;
    }
    let mut by_subset: BTreeMap<Cow<'_, str>, &Object> = BTreeMap::new();
    for service in services {
        let own = || hosts(service, &facts.mesh.domain).map(|(_, host)| host);
        let is_own = |to: &Destination<'_>| to.subset.is_some() && own().any(|own| own == to.host);
        for to in destination::of(facts.mesh, service)
            .into_iter()
            .filter(is_own)
        {
            by_subset.entry(to.host).or_insert(service);
        }
    }
    for service in services.iter().filter(is_for_gateway) {
        out.examined();
        for to in destination::of(facts.mesh, service)
            .iter()
            .filter(|to| to.subset.is_none())
        {
            let Some(other) = by_subset
                .get(&to.host)
                .filter(|other| other.id != service.id)
            else {
                continue;
            };
            let message = format!(
                "{} leads from a gateway to {} without a subset, so the subsets of {} do not count there",
                service.id, to.host, other.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, to.node, "where it leads"),
            )
            .fix(Fix::advice("name the subset here too"));
        }
    }
}
