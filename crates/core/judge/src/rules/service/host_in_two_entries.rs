//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::Key;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::scopes;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::number;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2450",
    name: "host-in-two-entries",
    aka: &["KIA1211"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a host and port is in one ServiceEntry, or in several that say the same",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("host_in_two_entries.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut at: BTreeMap<Key<'_>, Vec<(&Object, &Node)>> = BTreeMap::new();
    for entry in facts.mesh.objects.of_kind(Kind::ServiceEntry) {
        out.examined();
        for host in entry.spec_list("hosts") {
            for port in entry
                .spec_list("ports")
                .iter()
                .filter_map(|port| number(port.get("number")?))
            {
                for scope in scopes(facts.mesh, entry) {
                    at.entry((scope, host.str().unwrap_or_default(), port))
                        .or_default()
                        .push((entry, host));
                }
            }
        }
    }
    let mut told = BTreeSet::new();
    for ((_, host, port), entries) in at.iter().filter(|(_, entries)| entries.len() > 1) {
        let (first, _) = entries[0];
        for (entry, node) in entries.iter().filter(|(entry, _)| entry.id != first.id) {
            if !told.insert(&entry.id) {
                continue;
            }
            let differs = difference(first, entry);
            let and = match differs {
                Some(key) => format!("they differ in {key}, and only one of them counts"),
                None => "they say the same".to_owned(),
            };
            let message = format!(
                "{} and {} both have {host}:{port}; {and}",
                entry.id, first.id
            );
            let finding = out.find(
                entry.id.clone(),
                message,
                Evidence::of(entry, node, "the host"),
            );
            finding
                .see(Evidence::object(first, "the other"))
                .fix(Fix::advice("make them one, or keep them apart by exportTo"));
            if differs.is_none() {
                finding.severity(Severity::Info);
            }
        }
    }
}

/// What a client gets from one of them only. Endpoints of one namespace are put together.
fn difference(a: &Object, b: &Object) -> Option<&'static str> {
    let text = |entry: &Object, key: &str, default: &str| {
        entry
            .spec_at([key])
            .and_then(Node::str)
            .unwrap_or(default)
            .to_owned()
    };
    let differs = |key: &str, default: &str| text(a, key, default) != text(b, key, default);
    let endpoints = |entry: &Object| entry.spec_at(["endpoints"]).map(Node::to_json);
    match () {
        () if differs("resolution", "NONE") => Some("resolution"),
        () if differs("location", "MESH_EXTERNAL") => Some("location"),
        () if a.id.namespace != b.id.namespace && endpoints(a) != endpoints(b) => Some("endpoints"),
        () => None,
    }
}
