//! As the objects alone show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::scopes;
use crate::rules::service::Key;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::number;
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut said: BTreeMap<Key<'_>, Vec<(&Object, &Node, String)>> = BTreeMap::new();
    for entry in facts.mesh.objects.of_kind(Kind::ServiceEntry) {
        out.examined();
        for port in entry.spec_list("ports") {
            let number = port.get("number").and_then(number).unwrap_or_default();
            let protocol = port
                .str_at("protocol")
                .unwrap_or_default()
                .to_ascii_uppercase();
            for host in entry.spec_strings("hosts") {
                for scope in scopes(facts.mesh, entry) {
                    said.entry((scope, host, number)).or_default().push((
                        entry,
                        port,
                        protocol.clone(),
                    ));
                }
            }
        }
    }
    let mut told = BTreeSet::new();
    for ((_, host, number), entries) in &said {
        let Some(first) = entries.first() else {
            continue;
        };
        let Some(differing) = entries.iter().find(|(_, _, protocol)| *protocol != first.2) else {
            continue;
        };
        for (entry, port, protocol) in entries {
            let (other, _, another) = if *protocol == first.2 {
                differing
            } else {
                first
            };
            if told.insert(&entry.id) {
                let message = format!(
                    "{} says {protocol} for {host}:{number}, and {} says {another}",
                    entry.id, other.id
                );
                out.find(
                    entry.id.clone(),
                    message,
                    Evidence::of(entry, port, "the port"),
                )
                .fix(Fix::advice("name the same protocol in all of them"));
            }
        }
    }
}
