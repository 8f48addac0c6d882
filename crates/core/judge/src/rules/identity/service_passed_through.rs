//! See the page beside this file.

use super::servers;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;

pub(super) static RULE: Rule = Rule {
    code: "ML0804",
    name: "service-passed-through",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "calls to a Service of the mesh are recognised as such, and get mutual TLS",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Sidecar]),
    uses: Inputs::of(&[Kind::PeerAuthentication]),
    explains: &["ML10"],
    docs: include_str!("service_passed_through.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let (Some(client), Some(service)) = (called_service::client_pod(facts, case), case.service)
    else {
        return;
    };
    out.examined();
    if !case
        .clusters()
        .any(|cluster| cluster == "PassthroughCluster")
    {
        return;
    }
    let Some(service) = facts.mesh.service(&service.namespace, &service.name) else {
        return;
    };
    let scope = facts.mesh.scope(client);
    let host = facts
        .mesh
        .domain
        .service(&service.id.name, &service.id.namespace);
    let import = scope.imports(&service.id.namespace, &host);
    let Some((sidecar, node)) = import.by.filter(|_| !import.holds) else {
        return;
    };
    let servers = servers::of_request(facts, case);
    if servers.is_empty() {
        return;
    }
    let message = format!(
        "{} does not import {}, so the proxy of {} passes calls to it through in plain text, without mutual TLS or routes",
        sidecar.id, service.id, client.id
    );
    let finding = out.find(
        sidecar.id.clone(),
        message,
        Evidence::of(sidecar, node, "what is imported"),
    );
    finding.hits(client.id.clone()).hits(service.id.clone());
    if servers
        .iter()
        .any(|server| server.mode.mode == MutualTls::Strict)
    {
        finding.severity(Severity::Error);
    }
    let entry = format!("{}/{host}", service.id.namespace);
    finding.fix(Fix::patch(
        &sidecar.id,
        [Op::add("/spec/egress/0/hosts/-", entry)],
    ));
}
