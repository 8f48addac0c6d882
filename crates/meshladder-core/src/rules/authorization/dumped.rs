//! Policies as a proxy's dump has them, for when the objects could not be read.

use crate::doc::json::{Kind, Raw};
use crate::envoy::dump::{Dump, Section};
use crate::finding::Evidence;
use crate::mesh::PodFacts;
use crate::rules::Facts;
use crate::snapshot::{DocId, ProxyRef};

/// The first enforced ALLOW policy in a pod's proxy: its name, and where it stands.
pub(super) fn allow_policy(facts: &Facts<'_>, pod: &PodFacts) -> Option<(String, Evidence)> {
    let proxy = ProxyRef { source: String::new(), namespace: pod.namespace.clone(), pod: pod.name.clone() };
    let document = facts.snapshot.open(&DocId::of_proxy(&proxy, "config_dump.json")).ok()?;
    let dump = Dump::index(&document.text, &[Section::Listeners]).ok()?;
    let (name, at) = dump.of(Section::Listeners).filter_map(|listener| listener.raw).find_map(allowing)?;
    Some((name, Evidence::offset(&document.id, at, "the ALLOW policy, as the proxy has it")))
}

/// An `RBAC` has `rules`, with the policies by name; "ALLOW" is the action when none is written.
fn allowing(raw: Raw<'_>) -> Option<(String, usize)> {
    match raw.kind() {
        Kind::Array => raw.elements().find_map(allowing),
        Kind::Object => {
            let rules = raw.get("rules").filter(|rules| rules.kind() == Kind::Object);
            let action = rules.and_then(|rules| rules.string_at("action"));
            let own = rules.filter(|_| action.is_none_or(|action| action == "ALLOW")).and_then(|rules| {
                let (name, policy) = rules.get("policies")?.members().next()?;
                Some((name.to_string(), policy.offset()))
            });
            own.or_else(|| raw.members().find_map(|(_, value)| allowing(value)))
        }
        _ => None,
    }
}
