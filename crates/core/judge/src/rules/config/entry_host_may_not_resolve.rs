//! See the page beside this file.

use super::entries::has_dns_capture;
use super::met;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::host::covers;
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0520",
    name: "entry-host-may-not-resolve",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every ServiceEntry's host is a name that applications can resolve",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("entry_host_may_not_resolve.md"),
    check: Check::Either(check),
};

/// "Top Level DNS names reserved for testing and documentation", and those that never leave a
/// network. Nobody but the mesh can resolve them.
const PRIVATE: [&str; 6] = [
    ".internal",
    ".invalid",
    ".local",
    ".mesh",
    ".test",
    ".global",
];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if has_dns_capture(facts.mesh) {
        return;
    }
    for entry in facts.mesh.objects.of_kind(Kind::ServiceEntry) {
        for host in entry.spec_list("hosts") {
            let name = host.str().unwrap_or_default();
            if case.is_some_and(|case| !meets(case, name)) {
                continue;
            }
            out.examined();
            let is_service = facts.mesh.domain.without(name).is_some();
            let is_private = PRIVATE.iter().any(|suffix| name.ends_with(suffix)) && !is_service;
            if entry.spec_list("addresses").is_empty() && is_private {
                tell(facts, entry, host, case.is_some(), out);
            }
        }
    }
}

/// A client that cannot resolve a name gets no answer at all.
fn meets(case: &Case<'_>, host: &str) -> bool {
    // A request that got as far as the proxy was sent to an address.
    let resolved = case
        .client_log
        .iter()
        .any(|line| line.cluster.ends_with(&format!("||{host}")));
    let fails = case.seen.is_some_and(|seen| seen.code == 0);
    covers(host, &met::authority(case))
        && fails
        && !resolved
        && case.call.to.scheme != Scheme::Https
}

fn tell(facts: &Facts<'_>, entry: &Object, host: &Node, is_asked: bool, out: &mut Sink) {
    let message = format!(
        "{} has no address for {}, and proxies do not answer DNS: applications must resolve the name elsewhere",
        entry.id,
        host.str().unwrap_or_default()
    );
    let finding = out.find(
        entry.id.clone(),
        message,
        Evidence::of(entry, host, "the host"),
    );
    finding.confidence(Confidence::Possible);
    if !is_asked {
        finding.severity(Severity::Info);
    }
    if let Some(map) = facts
        .mesh
        .config
        .object
        .as_ref()
        .and_then(|id| facts.mesh.objects.find(id))
    {
        let at = map.node.at(["data", "mesh"]).unwrap_or(&map.node);
        finding.see(Evidence::of(
            map,
            at,
            "the settings of the mesh, without ISTIO_META_DNS_CAPTURE",
        ));
    }
    finding.fix(Fix::advice(
        "give the ServiceEntry `addresses` and the name a DNS record, or turn DNS capture on",
    ));
}
