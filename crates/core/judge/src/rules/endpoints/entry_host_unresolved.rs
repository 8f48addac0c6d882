//! See the page beside this file.

use super::called_service;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0730",
    name: "entry-host-unresolved",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "proxies can resolve the names that a ServiceEntry leaves to DNS",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Service]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::Sidecar]).and(&[Part::Logs]),
    explains: &["ML10"],
    docs: include_str!("entry_host_unresolved.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.has("UH"));
    let is_seen = case.seen.is_some_and(|seen| seen.has("UH"));
    let Some(client) =
        called_service::client_pod(facts, case).filter(|_| told.is_some() || is_seen)
    else {
        return;
    };
    let Some(entry) = accounts::outside(facts, case) else {
        return;
    };
    let resolution = entry.spec_at(["resolution"]);
    if !resolution
        .and_then(Node::str)
        .is_some_and(|how| how.starts_with("DNS"))
    {
        return;
    }
    let Some(clusters) = called_service::clusters_of(facts, &client.id.namespace, &client.id.name)
    else {
        return;
    };
    let empty = case.clusters().find_map(|name| {
        called_service::hosts_of(&clusters, name).filter(|(hosts, _)| hosts.is_empty())
    });
    let Some((_, proof)) = empty else { return };
    let written = entry
        .spec_list("endpoints")
        .iter()
        .find_map(|endpoint| endpoint.get("address"));
    let named = written
        .or_else(|| entry.spec_at(["hosts"]))
        .unwrap_or(&entry.node);
    let name = written.and_then(Node::str).unwrap_or(&case.host);
    let message = format!(
        "{} leaves {name} to DNS, and the proxy of {} got no address for it",
        entry.id, client.id
    );
    let finding = out.find(
        entry.id.clone(),
        message,
        Evidence::of(entry, named, "the name"),
    );
    finding
        .see(proof)
        .confidence(Confidence::Likely)
        .hits(client.id.clone());
    finding.evidence.extend(told.map(|told| told.proof));
    finding.fix(Fix::advice(
        "correct the name, or give `endpoints` with addresses",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl exec {} -n {} -c istio-proxy -- getent hosts {}",
        &[&client.id.name, &client.id.namespace, name],
    )));
}
