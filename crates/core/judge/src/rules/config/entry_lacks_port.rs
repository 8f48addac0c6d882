//! See the page beside this file.

use super::entries::ports_of;
use super::{met, patch};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::host::covers;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0521",
    name: "entry-lacks-port",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a ServiceEntry whose address istiod made up has every port that is called",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Pod, Kind::Sidecar]).and(&[Part::Logs]),
    explains: &["ML06", "ML10"],
    docs: include_str!("entry_lacks_port.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let wanted = met::authority(case);
    let for_host = |entry: &&Object| {
        entry
            .spec_strings("hosts")
            .any(|host| covers(host, &wanted))
    };
    let all: Vec<&Object> = facts
        .mesh
        .objects
        .of_kind(Kind::ServiceEntry)
        .iter()
        .filter(for_host)
        .collect();
    let port = case.call.to.port;
    if is_refused(facts, case) {
        return;
    }
    for entry in &all {
        out.examined();
        let allocated = entry
            .node
            .at(["status", "addresses"])
            .filter(|list| !list.items().is_empty());
        let allocated =
            allocated.map(|list| Evidence::of(entry, list, "the address that was made up"));
        let line = case.client_log.iter().rfind(|line| is_made_up(line));
        let called = line.map(|line| {
            Evidence::line(
                &DocId::new(&line.doc),
                line.number,
                "a call to an address that istiod made up",
            )
        });
        let is_own = !entry.spec_list("addresses").is_empty();
        let proofs: Vec<Evidence> = called.into_iter().chain(allocated).collect();
        if is_own || proofs.is_empty() || !met::fails(case) {
            continue;
        }
        if all
            .iter()
            .any(|one| ports_of(one).any(|known| known.port == port))
        {
            continue;
        }
        let has: Vec<String> = ports_of(entry)
            .map(|known| known.port.to_string())
            .collect();
        let message = format!(
            "{} gives {wanted} an address that istiod made up, but only on port {}: nobody is there on {port}",
            entry.id,
            has.join(", ")
        );
        let ports = entry.spec_at(["ports"]).unwrap_or(&entry.node);
        let finding = out.find(
            entry.id.clone(),
            message,
            Evidence::of(entry, ports, "the ports it has"),
        );
        finding.evidence.extend(proofs);
        let added = Value::object([
            ("number", Value::from(port)),
            ("name", format!("tcp-{port}").into()),
            ("protocol", "TCP".into()),
        ]);
        finding.fix(patch::set(entry, ports, "-", added));
    }
}

/// Whether the caller's proxy refuses what it has no entry for: then the address is never called.
fn is_refused(facts: &Facts<'_>, case: &Case<'_>) -> bool {
    let client = called_service::client_pod(facts, case);
    client.is_some_and(|client| facts.mesh.is_registry_only(facts.mesh.scope(client)).0)
}

/// istiod takes the addresses it makes up for hosts from 240.240.0.0/16 and 2001:2::/48, which
/// nobody has.
fn is_made_up(line: &AccessLine) -> bool {
    let (address, _) = line.upstream_host.rsplit_once(':').unwrap_or_default();
    line.cluster == "PassthroughCluster"
        && (address.starts_with("240.240.") || address.starts_with("[2001:2:"))
}
