//! See the page beside this file.

use super::clients::Clients;
use super::entries::resolution;
use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::host::covers;
use meshladder_mesh::traffic::{Destination, binds_mesh, destinations, hosts};
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0522",
    name: "route-to-entry-without-resolution",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no route leads to a ServiceEntry that keeps the client's own destination",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::VirtualService]),
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Service, Kind::Sidecar]),
    explains: &["ML06", "ML07"],
    docs: include_str!("route_to_entry_without_resolution.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for to in destinations(service, &facts.mesh.domain) {
            let is_met = |case: &Case<'_>| {
                met::fails(case)
                    && met::is_for_host(facts, service, &met::authority(case))
                    && met::clusters(case).any(|cluster| covers(&to.host, cluster.host))
            };
            if case.is_some_and(|case| !is_met(case)) {
                continue;
            }
            let mut owners = facts.mesh.registered(&to.host);
            let Some(owner) = owners
                .next()
                .filter(|owner| owner.id.is(Kind::ServiceEntry))
            else {
                continue;
            };
            out.examined();
            // A sidecar's call to the same host still goes where the client wanted.
            let keeps_host = binds_mesh(service)
                && hosts(service, &facts.mesh.domain).all(|(_, host)| host == to.host);
            if resolution(owner) == "NONE" && owners.next().is_none() && !keeps_host {
                let is_used = case.is_some() || !clients.of_virtual_service(service).is_empty();
                tell(service, &to, owner, is_used, out);
            }
        }
    }
}

fn tell(service: &Object, to: &Destination<'_>, owner: &Object, is_used: bool, out: &mut Sink) {
    let message = format!(
        "{} routes to {}, but {} has resolution NONE: the connection goes on to where the client was going, not there",
        service.id, to.host, owner.id
    );
    let at = owner
        .spec_at(["resolution"])
        .or_else(|| owner.spec_at(["hosts"]))
        .unwrap_or(&owner.node);
    let finding = out.find(
        owner.id.clone(),
        message,
        Evidence::of(owner, at, "how the host is resolved"),
    );
    finding.see(Evidence::of(service, to.node, "the route to it"));
    finding.hits(service.id.clone());
    if !is_used {
        finding.severity(Severity::Info);
    }
    if !to.host.starts_with('*') {
        finding.fix(Fix::merge(
            &owner.id,
            Value::nested(["spec", "resolution"], "DNS"),
        ));
    }
}
