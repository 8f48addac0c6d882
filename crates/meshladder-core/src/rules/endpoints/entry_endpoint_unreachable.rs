//! See the page beside this file.

use super::met;
use crate::access_log::Line;
use crate::envoy::name::ClusterName;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::rules::{Asked, Check, Facts, Rule, Sink};
use crate::snapshot::DocId;

pub(super) static RULE: Rule = Rule {
    code: "ML0723",
    name: "entry-endpoint-unreachable",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the addresses that a ServiceEntry gives for its host take connections",
    needs: &["k8s/serviceentries.networking.istio.io.json", "k8s/services.json", "logs/"],
    uses: &["k8s/pods.json", "k8s/sidecars.networking.istio.io.json"],
    explains: &["ML10"],
    docs: include_str!("entry_endpoint_unreachable.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, asked: &Asked<'_>, out: &mut Sink) {
    out.examined();
    if asked.seen.is_some_and(|seen| !seen.has("UF") && !seen.has("URX") && seen.code != 0) {
        return;
    }
    let Some(line) = asked.client_log.iter().max_by_key(|line| &line.start).filter(|line| is_unconnected(line)) else {
        return;
    };
    let Some(cluster) = ClusterName::parse(&line.cluster) else { return };
    let scope = met::client_scope(facts, asked);
    let owner = match scope {
        Some(scope) => facts.mesh.registry(scope, cluster.host).into_iter().next(),
        None => facts.mesh.registered(cluster.host).next(),
    };
    let Some(entry) = owner.filter(|owner| owner.id.kind == "ServiceEntry") else { return };
    let message = format!(
        "connections to {}, the address of {} by {}, are not answered",
        line.upstream_host, cluster.host, entry.id
    );
    let finding = out.find(entry.id.clone(), message, proof(entry, line));
    finding.see(Evidence::line(&DocId::new(&line.doc), line.number, "a connection that was not made"));
    // Whether the address is wrong or its owner is away, no document tells.
    finding.confidence(Confidence::Likely);
    finding.hits.extend(asked.client.map(crate::mesh::PodFacts::reference));
    finding.fix(Fix::advice("give the endpoint the address and port at which the host is served"));
}

/// A connection that nobody took: TLS that fails is another matter.
fn is_unconnected(line: &Line) -> bool {
    let why = format!("{} {}", line.details, line.failure);
    let timed_out = ["connection_timeout", "delayed_connect_error", "connection_refused", "remote_connection_failure"];
    line.has("UF") && !why.contains("TLS_error") && !line.upstream_host.is_empty() && {
        timed_out.iter().any(|word| why.contains(word))
    }
}

/// The address as the entry has it, else its hosts, whose addresses DNS gives.
fn proof(entry: &Stored, line: &Line) -> Evidence {
    let address = line.upstream_host.rsplit_once(':').map_or("", |(address, _)| address);
    let written = entry.spec_list("endpoints").iter().filter_map(|endpoint| endpoint.get("address"));
    match written.into_iter().find(|node| node.str() == Some(address)) {
        Some(node) => Evidence::of(entry, node, "the address"),
        None => Evidence::of(entry, entry.spec_at(["hosts"]).unwrap_or(&entry.node), "the host"),
    }
}
