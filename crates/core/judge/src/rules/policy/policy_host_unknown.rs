//! See the page beside this file.

use std::collections::BTreeSet;

use super::listed::of_operations;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Mesh;

pub(super) static RULE: Rule = Rule {
    code: "ML2654",
    name: "policy-host-unknown",
    aka: &["KIA0104"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "short hosts that policies name are Services",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Service]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::VirtualService]),
    explains: &[],
    docs: include_str!("policy_host_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if !holds(facts, Kind::Service) {
        return;
    }
    let known = short_hosts(facts.mesh);
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        for node in of_operations(policy, &["hosts", "notHosts"]) {
            out.examined();
            let written = node.str().unwrap_or_default();
            let host = written.split_once(':').map_or(written, |(host, _)| host);
            // A Host header may be anything; only a short name is surely meant as a Service's.
            if host.is_empty() || host.contains(['.', '*', '[']) || known.contains(host) {
                continue;
            }
            let message = format!(
                "{} names host {host}, and no Service is called so",
                policy.id
            );
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "the host"),
            )
            .fix(Fix::advice(
                "name the host as clients send it in their Host header",
            ));
        }
    }
}

fn short_hosts(mesh: &Mesh) -> BTreeSet<&str> {
    let services = mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .map(|service| service.id.name.as_str());
    let named = [Kind::ServiceEntry, Kind::VirtualService]
        .into_iter()
        .flat_map(|kind| mesh.objects.of_kind(kind));
    services
        .chain(named.flat_map(|object| object.spec_strings("hosts")))
        .chain(["localhost"])
        .collect()
}
