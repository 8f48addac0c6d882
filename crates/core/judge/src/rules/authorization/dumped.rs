//! Policies as a proxy's dump has them, for when the objects could not be read.

use std::collections::BTreeMap;

use crate::finding::Evidence;
use crate::rules::Facts;
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{DocId, Document, ProxyRef};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::json;
use meshladder_text::json::Raw;

/// The first enforced ALLOW policy in a pod's proxy: its name, and where it stands.
pub(super) fn allow_policy(facts: &Facts<'_>, pod: &PodFacts) -> Option<(String, Evidence)> {
    let document = dump_of(facts, pod)?;
    let dump = Dump::index(&document.text, &[Section::Listeners]).ok()?;
    let (name, at) = dump
        .of(Section::Listeners)
        .filter_map(|listener| listener.raw)
        .find_map(allowing)?;
    Some((
        name,
        Evidence::offset(&document.id, at, "the ALLOW policy, as the proxy has it"),
    ))
}

/// The dump of a pod's proxy.
pub(super) fn dump_of(facts: &Facts<'_>, pod: &PodFacts) -> Option<Document> {
    let proxy = ProxyRef {
        source: String::new(),
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
    };
    facts
        .snapshot
        .open(&DocId::of_proxy(&proxy, "config_dump.json"))
        .ok()
}

/// For each of these RequestAuthentications the dump of one proxy that it reaches.
pub(super) fn of_each<'f>(
    facts: &Facts<'f>,
    policies: &[&'f Object],
) -> BTreeMap<&'f ObjectRef, Document> {
    let mut found = BTreeMap::new();
    for pod in facts.mesh.pods.iter().filter(|pod| pod.has_proxy) {
        if found.len() == policies.len() {
            break;
        }
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        let reaching = facts
            .mesh
            .policies(Kind::RequestAuthentication, &Workload::of(stored));
        let new = |policy: &&Object| {
            policies.iter().any(|one| one.id == policy.id) && !found.contains_key(&policy.id)
        };
        let reaching: Vec<&Object> = reaching.into_iter().filter(new).collect();
        for policy in reaching {
            found.extend(dump_of(facts, pod).map(|dump| (&policy.id, dump)));
        }
    }
    found
}

/// An `RBAC` has `rules`, with the policies by name; "ALLOW" is the action when none is written.
fn allowing(raw: Raw<'_>) -> Option<(String, usize)> {
    match raw.kind() {
        json::ValueKind::Array => raw.elements().find_map(allowing),
        json::ValueKind::Object => {
            let rules = raw
                .get("rules")
                .filter(|rules| rules.kind() == json::ValueKind::Object);
            let action = rules.and_then(|rules| rules.string_at("action"));
            let own = rules
                .filter(|_| action.is_none_or(|action| action == "ALLOW"))
                .and_then(|rules| {
                    let (name, policy) = rules.get("policies")?.members().next()?;
                    Some((name.to_string(), policy.offset()))
                });
            own.or_else(|| raw.members().find_map(|(_, value)| allowing(value)))
        }
        _ => None,
    }
}
