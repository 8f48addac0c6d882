//! See the page beside this file.

use std::collections::BTreeMap;

use super::{called_service, outliers};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::clusters::{self, ClusterStatuses};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0711",
    name: "endpoints-ejected",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "in every proxy, outlier detection leaves each cluster an endpoint",
    needs: Inputs::of(&[Kind::DestinationRule]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::Service, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML10"],
    docs: include_str!("endpoints_ejected.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(pod), Some(doc)) = (proxy.pod, &proxy.docs.clusters) else {
        return;
    };
    out.examined();
    // Few proxies eject at all, and reading all of `/clusters` is dear.
    if !doc.text.contains("failed_outlier_check") {
        return;
    }
    let Ok(json) = clusters::as_json(&doc.text) else {
        return;
    };
    let Ok(all) = ClusterStatuses::read(&json) else {
        return;
    };
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for host in &all.hosts {
        let count = counts.entry(all.name(host)).or_insert((0, 0, host.status));
        count.0 += usize::from(host.ejected());
        count.1 += 1;
    }
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return;
    };
    for (cluster, (ejected, hosts, status)) in
        counts.into_iter().filter(|(_, (ejected, ..))| *ejected > 0)
    {
        let Some(name) = ClusterName::parse(cluster) else {
            continue;
        };
        let scope = facts.mesh.scope(stored);
        let rule =
            outliers::of_client(facts, scope, name.host, name.port.parse().ok(), name.subset);
        let Some((rule, detection)) = rule else {
            continue;
        };
        let message = format!(
            "the proxy of {} has ejected {ejected} of {} of {}, as {} permits",
            stored.id,
            called_service::count(hosts, "endpoint"),
            name.host,
            rule.id
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, detection, "what ejects endpoints"),
        );
        let at = all.statuses.get(status).map_or(0, |status| status.offset());
        finding
            .see(Evidence::offset(&doc.id, at, "what the proxy has"))
            .hits(stored.id.clone());
        if let Some(service) = facts.mesh.service_of_host(name.host) {
            finding.hits(service.id.clone());
        }
        if ejected < hosts {
            finding.severity(Severity::Info);
        }
        finding.fix(Fix::look(shell::command(
            "meshladder pc endpoint {}.{} --cluster {}",
            &[&pod.name, &pod.namespace, cluster],
        )));
    }
}
