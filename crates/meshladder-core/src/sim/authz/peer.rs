//! `PeerAuthentication`: whether a port takes plain text.

use super::mesh::Mesh;
use super::select::{self, Objects, Workload};
use crate::doc::tree::Node;

/// What a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutualTls {
    /// Plain text only.
    Disable,
    /// Plain text and mutual TLS.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

/// What the objects say of a workload's port, and the object that says so.
///
/// "It should have the setting from the most narrow scope (i.e workload-level is preferred over namespace-level, which is
/// preferred over mesh-level). When there are more than one policy in the same scope, the oldest one win. UNSET will be
/// replaced with the setting from the parent."
pub fn mutual_tls<'a>(
    objects: &Objects<'a>,
    workload: &Workload<'_>,
    port: u16,
    mesh: &Mesh,
) -> (MutualTls, Option<&'a Node>) {
    let policies = select::reaching(&objects.peer_authentications, workload, mesh);
    let is_root = |policy: &select::Resource<'_>| policy.namespace() == &*mesh.root_namespace;
    let has_labels = |policy: &select::Resource<'_>| {
        let labels = policy.node.at(["spec", "selector", "matchLabels"]);
        labels.is_some_and(|labels| !labels.members().is_empty())
    };
    let oldest = |root: bool, labels: bool| {
        policies.iter().find(|policy| is_root(policy) == root && has_labels(policy) == labels).copied()
    };
    let (mesh_wide, namespace, own) = (oldest(true, false), oldest(false, false), oldest(false, true));
    let on_port =
        own.and_then(|own| Some((mode(own.node.at(["spec", "portLevelMtls"])?.get(&port.to_string()))?, own)));
    let scopes = [own, namespace, mesh_wide].into_iter().flatten();
    let mut set = scopes.filter_map(|policy| Some((mode(policy.node.at(["spec", "mtls"]))?, policy)));
    let found = on_port.or_else(|| set.next());
    found.map_or((MutualTls::Permissive, None), |(mode, policy)| (mode, Some(policy.node)))
}

fn mode(mtls: Option<&Node>) -> Option<MutualTls> {
    match mtls?.str_at("mode")? {
        "DISABLE" => Some(MutualTls::Disable),
        "PERMISSIVE" => Some(MutualTls::Permissive),
        "STRICT" => Some(MutualTls::Strict),
        _ => None,
    }
}
