//! See the page beside this file.

use super::clients::Clients;
use super::nearest::nearest_service;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::traffic::{binds_mesh, hosts};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0503",
    name: "virtual-service-host-in-no-registry",
    aka: &["KIA1101"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every host that a VirtualService routes for sidecars is a Service's or a ServiceEntry's",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Sidecar]),
    explains: &["ML06"],
    docs: include_str!("virtual_service_host_in_no_registry.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::VirtualService)
        .iter()
        .filter(|service| binds_mesh(service))
    {
        for (node, host) in hosts(service, &facts.mesh.domain) {
            // A wildcard stands for whatever Services there are.
            if host.starts_with('*') || is_for_gateway(facts, service, node) {
                continue;
            }
            let is_known = facts.mesh.registered(&host).next().is_some();
            let meant = if is_known {
                None
            } else {
                nearest_service(facts.mesh, &host)
            };
            if case.is_some_and(|case| !meets(facts, case, service, &host, meant.as_deref())) {
                continue;
            }
            out.examined();
            if !is_known {
                let is_used = case.is_some() || !clients.of_virtual_service(service).is_empty();
                unknown(facts, service, node, &host, meant.filter(|_| is_used), out);
            }
        }
    }
}

fn is_for_gateway(facts: &Facts<'_>, service: &Object, host: &Node) -> bool {
    service
        .spec_strings("gateways")
        .filter(|entry| *entry != "mesh")
        .any(|entry| {
            let (namespace, name) = gateway_name(entry, &service.id.namespace);
            let gateway = facts.mesh.gateway(namespace, name);
            gateway
                .into_iter()
                .flat_map(servers)
                .any(|server| server.takes(service, host, &facts.mesh.domain))
        })
}

/// Whether the request is for the host, or for the one that was meant.
fn meets(
    facts: &Facts<'_>,
    case: &Case<'_>,
    service: &Object,
    host: &str,
    meant: Option<&str>,
) -> bool {
    let wanted = met::authority(case);
    let visible =
        met::scope(facts, case).is_none_or(|s| facts.mesh.is_exported_to(service, s.namespace));
    visible && !met::is_through_gateway(case) && (wanted == host || meant == Some(&wanted))
}

fn unknown(
    facts: &Facts<'_>,
    service: &Object,
    node: &Node,
    host: &str,
    meant: Option<String>,
    out: &mut Sink,
) {
    let written = node.str().unwrap_or_default();
    let message = match &meant {
        Some(meant) => format!(
            "{} is for host {written}, which is no Service; {meant} is one",
            service.id
        ),
        None => format!(
            "{} is for host {host}, which no Service and no ServiceEntry has",
            service.id
        ),
    };
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, node, "the host it is for"),
    );
    match meant {
        None => {
            finding
                .severity(Severity::Info)
                .when_asked(Severity::Warning);
        }
        Some(meant) => {
            if let Some((name, namespace)) = facts.mesh.domain.service_name(&meant) {
                finding.hits(ObjectRef::of(Kind::Service, namespace, name));
            }
            finding.fix(patch::replace(service, node, &meant));
        }
    }
    finding.fix(Fix::advice(
        "write the full name of a Service, or create a ServiceEntry for the host",
    ));
}
