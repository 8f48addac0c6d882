//! The Secrets that Gateways name.

use crate::rules::Facts;
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;
use meshladder_text::tree::Node;

/// A `credentialName`.
pub(super) struct Named<'m> {
    pub(super) gateway: &'m Object,
    /// The name, as written.
    pub(super) node: &'m Node,
    pub(super) name: &'m str,
    /// Where the gateway's pods look for it.
    pub(super) namespace: &'m str,
    /// The Secret, when it is there.
    pub(super) secret: Option<&'m Object>,
}

/// Every name of a Secret that some pod will look for. Files that hold no Secret say nothing about
/// which there are.
pub(super) fn all<'m>(facts: &Facts<'m>) -> Vec<Named<'m>> {
    let is_listed = || {
        facts
            .snapshot
            .ids()
            .any(|id| id.split().1 == Kind::Secret.path())
    };
    if facts.mesh.objects.of_kind(Kind::Secret).is_empty() && !is_listed() {
        return Vec::new();
    }
    let gateways = facts.mesh.objects.of_kind(Kind::Gateway).iter();
    gateways.flat_map(|gateway| of(facts, gateway)).collect()
}

fn of<'m>(facts: &Facts<'m>, gateway: &'m Object) -> Vec<Named<'m>> {
    // Passed through, nothing is decrypted; and other providers have names with a scheme.
    let is_read = |node: &&Node| {
        !matches!(
            node.str_at("mode"),
            Some("PASSTHROUGH" | "AUTO_PASSTHROUGH")
        ) && node
            .str_at("credentialName")
            .is_some_and(|name| !name.is_empty() && !name.contains("://"))
    };
    let mut named = servers(gateway)
        .filter_map(|server| server.node.get("tls"))
        .filter(is_read)
        .peekable();
    if named.peek().is_none() {
        return Vec::new();
    }
    let Some(pod) = facts.mesh.gateway_pods(gateway).into_iter().next() else {
        return Vec::new();
    };
    let namespace = pod.id.namespace.as_str();
    let of_tls = |tls: &'m Node| {
        let node = tls.get("credentialName")?;
        let name = node.str()?;
        Some(Named {
            gateway,
            node,
            name,
            namespace,
            secret: facts.mesh.objects.get(Kind::Secret, namespace, name),
        })
    };
    named.filter_map(of_tls).collect()
}
