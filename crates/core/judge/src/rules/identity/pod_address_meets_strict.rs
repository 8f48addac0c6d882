//! See the page beside this file.

use super::servers;
use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::services::{ports, target_port};

pub(super) static RULE: Rule = Rule {
    code: "ML0803",
    name: "pod-address-meets-strict",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "a port that takes mutual TLS only is called by the Service's name, not by the pod's address",
    needs: Inputs::of(&[Kind::Pod, Kind::PeerAuthentication]),
    uses: Inputs::of(&[Kind::Service]),
    explains: &["ML10"],
    docs: include_str!("pod_address_meets_strict.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = case.client.filter(|client| client.has_proxy) else {
        return;
    };
    let to = &case.call.to;
    let Some(called) = to
        .host
        .parse()
        .ok()
        .and_then(|address| facts.mesh.pod_at(address))
    else {
        return;
    };
    out.examined();
    let passes = case
        .clusters()
        .any(|cluster| cluster == "PassthroughCluster")
        || case
            .client_log
            .iter()
            .any(|line| line.cluster == "PassthroughCluster");
    let strict = servers::of_request(facts, case)
        .into_iter()
        .find(|server| server.mode.mode == MutualTls::Strict);
    let Some(server) = strict.filter(|_| passes && servers::may_fail(case)) else {
        return;
    };
    let Some((policy, mode)) = server.mode.by else {
        return;
    };
    let message = format!(
        "{} calls the address of {} itself, so its proxy sends plain text through PassthroughCluster, and {} takes only mutual TLS there",
        client.workload(),
        called.reference(),
        policy.id
    );
    let subject = Subject::Request;
    let finding = out.find(
        subject,
        message,
        Evidence::of(policy, mode, "only mutual TLS is taken"),
    );
    finding.hits(client.reference()).hits(called.reference());
    let address = server
        .pod
        .node
        .at(["status", "podIP"])
        .unwrap_or(&server.pod.node);
    finding.see(Evidence::of(
        server.pod,
        address,
        "the address that is called",
    ));
    for service in facts.mesh.services_of(server.pod) {
        let leads = |number: &u16| *number == server.port;
        let port =
            ports(service).find(|port| target_port(port, server.pod).as_ref().is_some_and(leads));
        if let Some(port) = port {
            let (name, namespace) = (&service.id.name, &service.id.namespace);
            finding.fix(Fix::advice(format!(
                "call {}://{name}.{namespace}:{}{}",
                to.scheme.word(),
                port.number,
                to.path
            )));
        }
    }
    let workload = called_service::workload_ref(facts.mesh, server.pod);
    finding.fix(Fix::advice(format!("where the address must be called, exempt the port: a PeerAuthentication for {workload} with portLevelMtls {}: PERMISSIVE", server.port)));
}
