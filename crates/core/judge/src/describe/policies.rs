//! What policies say of a pod: mutual TLS by port, who may call, what else is put on its proxy.

use super::virtual_service::plain;
use super::{DescribeFacts, DescriptionSection};
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::{Workload, selector};
use meshladder_mesh::services::{ports, target_port};
use meshladder_text::tree::Node;

/// Mutual TLS on each port that a Service leads to.
pub(super) fn mutual_tls(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("mTLS for callers");
    let workload = Workload::of(pod);
    let services = facts.mesh.services_of(pod);
    let mut numbers: Vec<u16> = services
        .iter()
        .flat_map(|service| ports(service))
        .filter_map(|port| target_port(&port, pod))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let peer = facts.mesh.mutual_tls(&workload, number);
        let mode = match peer.mode {
            MutualTls::Disable => "DISABLE: plain text only",
            MutualTls::Permissive => "PERMISSIVE: plain text and mutual TLS",
            MutualTls::Strict => "STRICT: mutual TLS only",
        };
        section.add(
            format!("port {number}"),
            facts.unless_unread(&[Kind::PeerAuthentication], mode),
            peer.by.map(|(policy, _)| &policy.id),
        );
    }
    section
}

/// The policies that apply, by kind, and those that miss the pod by one label.
pub(super) fn sections(facts: &DescribeFacts<'_>, pod: &Object) -> Vec<DescriptionSection> {
    let workload = Workload::of(pod);
    let mut access = DescriptionSection::new("Who may call");
    let mut other = DescriptionSection::new("Other objects on its proxy");
    for kind in [Kind::AuthorizationPolicy, Kind::RequestAuthentication] {
        for policy in facts.mesh.policies(kind, &workload) {
            access.object(kind.singular(), action(policy), policy);
        }
        for (policy, label) in near(facts, kind, pod) {
            access.object(
                format!("not: {}", kind.singular()),
                format!("it wants {label}"),
                policy,
            );
        }
    }
    if let Some(unread) = facts.unread(&[Kind::AuthorizationPolicy]) {
        access.add("", format!("unknown without all {unread}"), None);
    } else if access.facts.is_empty() {
        access.add("", "everybody: no AuthorizationPolicy reaches it", None);
    }
    for kind in [
        Kind::EnvoyFilter,
        Kind::Telemetry,
        Kind::WasmPlugin,
        Kind::ProxyConfig,
    ] {
        for object in facts.mesh.policies(kind, &workload) {
            other.object(kind.singular(), "", object);
        }
    }
    vec![access, other]
}

fn action(policy: &Object) -> String {
    if !policy.id.is(Kind::AuthorizationPolicy) {
        let issuers = policy
            .spec_list("jwtRules")
            .iter()
            .filter_map(|rule| rule.str_at("issuer"));
        return format!("tokens of {}", issuers.collect::<Vec<_>>().join(", "));
    }
    let action = policy
        .spec_at(["action"])
        .and_then(Node::str)
        .unwrap_or("ALLOW");
    let rules = policy.spec_list("rules").len();
    let dry = policy.annotation("istio.io/dry-run") == Some("true");
    let what = match (action, rules) {
        ("ALLOW", 0) => "allows nothing".to_owned(),
        (action, _) => {
            format!(
                "{action} {}",
                policy
                    .spec_list("rules")
                    .iter()
                    .map(rule)
                    .collect::<Vec<_>>()
                    .join("; or ")
            )
        }
    };
    if dry {
        format!("{what}, only tried out (dry run)")
    } else {
        what
    }
}

/// `from principals cluster.local/ns/shop/sa/cart, to methods POST, paths /charge`; every part of a
/// rule has to match.
fn rule(rule: &Node) -> String {
    let part = |(key, word, inner): (&str, &str, &str)| {
        let list = rule.get(key).map_or(&[][..], Node::items).iter();
        let one: Vec<String> = list
            .map(|one| plain(one.get(inner).unwrap_or(one)))
            .collect();
        (!one.is_empty()).then(|| format!("{word} {}", one.join(" or ")))
    };
    let parts = [
        ("from", "from", "source"),
        ("to", "to", "operation"),
        ("when", "when", ""),
    ];
    let said: Vec<String> = parts.into_iter().filter_map(part).collect();
    if said.is_empty() {
        "everything".to_owned()
    } else {
        said.join(", ")
    }
}

/// Policies of the pod's namespace whose selector names a label that the pod has with another
/// value, and no other miss.
fn near<'m>(facts: &DescribeFacts<'m>, kind: Kind, pod: &Object) -> Vec<(&'m Object, String)> {
    let misses = |policy: &'m Object| {
        let wanted = selector(policy.spec())?.members();
        let differs = wanted
            .iter()
            .filter(|label| pod.label(&label.key) != label.value.str());
        let missed: Vec<String> = differs
            .clone()
            .map(|label| format!("{}={}", label.key, label.value.str().unwrap_or_default()))
            .collect();
        let has_key = differs.clone().all(|label| pod.label(&label.key).is_some());
        (missed.len() == 1 && has_key && looks_alike(&missed[0], pod))
            .then(|| (policy, missed[0].clone()))
    };
    facts
        .mesh
        .objects
        .in_namespace(kind, &pod.id.namespace)
        .filter_map(misses)
        .collect()
}

/// Whether the wanted value is the pod's but for a letter or two: a policy for another workload is
/// no near miss.
fn looks_alike(label: &str, pod: &Object) -> bool {
    let Some((key, wanted)) = label.split_once('=') else {
        return false;
    };
    let Some(own) = pod.label(key) else {
        return false;
    };
    let longer = own.len().max(wanted.len());
    let same = own
        .chars()
        .zip(wanted.chars())
        .take_while(|(a, b)| a == b)
        .count();
    longer - same <= 2 && same >= 3
}
