//! See the page beside this file.

use super::{called_service, slices};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0707",
    name: "endpoint-gone",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every endpoint that the client's proxy may choose is one that Kubernetes has",
    needs: Inputs::of(&[
        Kind::Service,
        Kind::Pod,
        Kind::EndpointSlice,
        Kind::ServiceEntry,
    ])
    .and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Sidecar]).and(&[Part::Logs]),
    explains: &["ML10"],
    docs: include_str!("endpoint_gone.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    let Some(doc) = called_service::clusters_of(facts, &client.id.namespace, &client.id.name)
    else {
        return;
    };
    let scope = facts.mesh.scope(client);
    for cluster in case.clusters() {
        let Some(name) = ClusterName::parse(cluster) else {
            continue;
        };
        let Some(service) = facts.mesh.service_of_host(name.host) else {
            continue;
        };
        let is_service = facts
            .mesh
            .registry(scope, name.host)
            .first()
            .is_some_and(|first| first.id == service.id);
        let (Some((hosts, proof)), true) = (called_service::hosts_of(&doc, cluster), is_service)
        else {
            continue;
        };
        out.examined();
        let known = slices::addresses(facts.mesh, service, None);
        let is_gone = |address: &str| {
            address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| !facts.mesh.is_elsewhere(ip))
                && !is_of_another_cluster(case, address)
                && !known.iter().any(|one| one.address == address)
                && !slices::has_owner(facts.mesh, address)
        };
        let gone: Vec<_> = hosts.iter().filter(|host| is_gone(&host.address)).collect();
        let Some(first) = gone.first() else { continue };
        let message = format!(
            "the proxy of {} still sends {} to {}:{}, an address that no pod and no EndpointSlice has",
            client.id, name.host, first.address, first.port
        );
        let subject = called_service::workload_ref(facts.mesh, client);
        let finding = out.find(subject, message, proof);
        finding.hits(client.id.clone()).hits(service.id.clone());
        let at = |host: &str| {
            gone.iter()
                .any(|gone| host == format!("{}:{}", gone.address, gone.port))
        };
        for line in case
            .client_log
            .iter()
            .filter(|line| at(&line.upstream_host))
            .take(1)
        {
            finding.see(Evidence::line(
                &DocId::new(&line.doc),
                line.number,
                "a request that went there",
            ));
        }
        let works = case.seen.is_some_and(crate::rules::Symptom::is_success);
        if works {
            finding.severity(if gone.len() == hosts.len() {
                Severity::Warning
            } else {
                Severity::Info
            });
        }
        finding.fix(Fix::look(shell::command(
            "meshladder proxy-status {}.{}",
            &[&client.id.name, &client.id.namespace],
        )));
        finding.fix(called_service::restart(facts.mesh, client));
    }
}

/// Whether the proxy was told that the address is another cluster's.
fn is_of_another_cluster(case: &Case<'_>, address: &str) -> bool {
    let mut endpoints = case
        .trace
        .sender()
        .into_iter()
        .flat_map(|hop| &hop.endpoints);
    endpoints.any(|endpoint| {
        let is_it = endpoint
            .socket
            .is_some_and(|(ip, _)| ip.to_string() == address);
        is_it && endpoint.elsewhere.is_some()
    })
}
