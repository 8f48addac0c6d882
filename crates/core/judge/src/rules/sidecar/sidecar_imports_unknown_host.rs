//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::{holds, holds_in};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object};

pub(super) static RULE: Rule = Rule {
    code: "ML2550",
    name: "sidecar-imports-unknown-host",
    aka: &["KIA1004"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every host that a Sidecar imports by its full name is known",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Service]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::VirtualService]),
    explains: &[],
    docs: include_str!("sidecar_imports_unknown_host.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for sidecar in facts.mesh.objects.of_kind(Kind::Sidecar) {
        let listeners = sidecar.spec_list("egress").iter();
        for node in listeners.flat_map(|listener| listener.items_at("hosts")) {
            out.examined();
            let entry = node.str().unwrap_or_default();
            let (from, host) = entry.split_once('/').unwrap_or(("*", entry));
            let from = if from == "." {
                sidecar.id.namespace.as_str()
            } else {
                from
            };
            let is_open = from == "~" || host.is_empty() || host.starts_with('*');
            if is_open || !can_tell(facts, from, host) || is_known(facts.mesh, from, host) {
                continue;
            }
            let whose = if from == "*" {
                String::new()
            } else {
                format!(" in namespace {from}")
            };
            let why = if host.contains('.') {
                ""
            } else {
                ": hosts are full names here"
            };
            let message = format!(
                "{} imports {host}, and no Service, ServiceEntry or VirtualService{whose} has that host{why}",
                sidecar.id
            );
            out.find(sidecar.id.clone(), message, Evidence::of(sidecar, node, "what it imports")).fix(Fix::advice(
                "name a host that is known, as namespace/name.namespace.svc.cluster.local for a Service",
            ));
        }
    }
}

/// Whether those that could have the host are among what was read.
fn can_tell(facts: &Facts<'_>, from: &str, host: &str) -> bool {
    let namespace = facts
        .mesh
        .domain
        .service_name(host)
        .map(|(_, namespace)| namespace);
    match namespace.or(Some(from).filter(|from| *from != "*" && !host.contains('.'))) {
        Some(namespace) => holds_in(facts, Kind::Service, namespace),
        None => holds(facts, Kind::ServiceEntry),
    }
}

fn is_known(mesh: &Mesh, from: &str, host: &str) -> bool {
    let is_from = |object: &Object| from == "*" || object.id.namespace == from;
    mesh.registered(host).any(is_from) || mesh.virtual_services_of(host).any(is_from)
}
