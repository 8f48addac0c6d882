//! See the page beside this file.

use super::called_service;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::selector::has_labels;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0723",
    name: "entry-endpoint-unreachable",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the addresses that a ServiceEntry gives for its host take connections",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Service]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod, Kind::Sidecar, Kind::WorkloadEntry]),
    explains: &["ML10"],
    docs: include_str!("entry_endpoint_unreachable.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(line) = accounts::unconnected(case) else {
        return;
    };
    let Some(cluster) = ClusterName::parse(&line.cluster) else {
        return;
    };
    let owner = called_service::owner(facts, case, cluster.host);
    let Some(entry) = owner.filter(|owner| owner.id.is(Kind::ServiceEntry)) else {
        return;
    };
    let (giver, node, shows) = giver(facts, entry, line);
    let message = format!(
        "connections to {}, the address of {} by {}, are not answered",
        line.upstream_host, cluster.host, giver.id
    );
    let finding = out.find(giver.id.clone(), message, Evidence::of(giver, node, shows));
    finding.hits(entry.id.clone());
    finding.see(Evidence::line(
        &DocId::new(&line.doc),
        line.number,
        "a connection that was not made",
    ));
    // Whether the address is wrong or its owner is away, no document tells.
    finding.confidence(Confidence::Likely);
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(
        "give the endpoint the address and port at which the host is served",
    ));
}

/// Who gives the address, and where: the entry itself, a WorkloadEntry that it selects, else its
/// hosts, whose addresses DNS gives.
fn giver<'f>(
    facts: &Facts<'f>,
    entry: &'f Object,
    line: &AccessLine,
) -> (&'f Object, &'f Node, &'static str) {
    let address = line
        .upstream_host
        .rsplit_once(':')
        .map_or("", |(address, _)| address.trim_matches(['[', ']']));
    let is_it = |node: &&Node| node.str() == Some(address);
    let written = entry
        .spec_list("endpoints")
        .iter()
        .filter_map(|endpoint| endpoint.get("address"));
    let selected = || {
        let labels = entry.spec_at(["workloadSelector", "labels"])?;
        let mut entries = facts
            .mesh
            .objects
            .in_namespace(Kind::WorkloadEntry, &entry.id.namespace);
        let node = |one: &'f Object| one.spec_at(["address"]).filter(is_it);
        entries.find_map(|one| {
            Some((
                one,
                node(one).filter(|_| has_labels(labels, one.spec_at(["labels"])))?,
            ))
        })
    };
    match (written.into_iter().find(is_it), selected()) {
        (Some(node), _) => (entry, node, "the address"),
        (None, Some((workload, node))) => (workload, node, "the address"),
        (None, None) => (
            entry,
            entry.spec_at(["hosts"]).unwrap_or(&entry.node),
            "the host",
        ),
    }
}
