//! See the page beside this file.

use super::{called_service, slices};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::{Fleet, Proxy};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::clusters::{self, ClusterStatuses};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::istiod::syncz::SyncStatus;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0709",
    name: "proxy-endpoints-differ",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Warning,
    claim: "proxies that are out of sync still have endpoints that exist",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::EndpointSlice]).and(&[Part::Proxies]),
    uses: Inputs::NONE.and(&[Part::Istiod]),
    explains: &[],
    docs: include_str!("proxy_endpoints_differ.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(pod), Some(doc)) = (proxy.pod, &proxy.docs.clusters) else {
        return;
    };
    out.examined();
    if is_current(facts.fleet, proxy, &pod.namespace, &pod.name) {
        return;
    }
    let Ok(json) = clusters::as_json(&doc.text) else {
        return;
    };
    let Ok(all) = ClusterStatuses::read(&json) else {
        return;
    };
    let mut gone: Vec<(String, String)> = Vec::new();
    for host in &all.hosts {
        let Some(name) =
            ClusterName::parse(all.name(host)).filter(|name| name.direction == "outbound")
        else {
            continue;
        };
        let Some(service) = facts.mesh.service_of_host(name.host) else {
            continue;
        };
        let address = host.address.host().into_owned();
        let known = slices::addresses(facts.mesh, service, None);
        // Without any EndpointSlice the hosts come from a ServiceEntry of the same name.
        if known.is_empty()
            || known.iter().any(|one| one.address == address)
            || slices::has_pod(facts.mesh, &address)
        {
            continue;
        }
        gone.push((name.host.to_owned(), address));
    }
    gone.sort();
    gone.dedup();
    let Some((host, address)) = gone.first() else {
        return;
    };
    let more = if gone.len() > 1 {
        format!(", and {} more", gone.len() - 1)
    } else {
        String::new()
    };
    let message = format!(
        "the proxy of {} still has {address} for {host}, which Kubernetes no longer has{more}",
        pod.reference()
    );
    let proof = Evidence::document(&doc.id, "the endpoints that the proxy has");
    let finding = out.find(pod.workload(), message, proof);
    finding.hits(pod.reference());
    finding.fix(Fix::look(shell::command(
        "meshladder proxy-status {}.{}",
        &[&pod.name, &pod.namespace],
    )));
    if let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) {
        finding.fix(called_service::restart(facts.mesh, stored));
    }
}

/// Whether an istiod says that the proxy has all endpoints, or nobody says that it has not.
fn is_current(fleet: &Fleet, proxy: &Proxy<'_>, namespace: &str, pod: &str) -> bool {
    let is_connected = proxy
        .stat("control_plane.connected_state")
        .is_none_or(|(value, _)| value == 1);
    let synced = |types: &std::collections::BTreeMap<String, crate::fleet::Watch>| {
        types
            .get("EDS")
            .is_some_and(|watch| matches!(watch.sync, SyncStatus::Synced))
    };
    is_connected
        && (fleet.istiods.is_empty()
            || fleet
                .streams_of(namespace, pod)
                .any(|stream| synced(&stream.types)))
}
