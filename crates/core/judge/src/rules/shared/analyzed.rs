//! What rules of objects share: the kinds they read, pods in the mesh, and what an object's clients
//! see.

use meshladder_mesh::export::Export;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// The label of the pods that istiod makes for a Gateway of the Gateway API: the Gateway's name.
pub(in crate::rules) const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";
/// The label of what istiod makes for Gateways and waypoints.
pub(in crate::rules) const GATEWAY_MANAGED: &str = "gateway.istio.io/managed";

/// The elements of the list `KEY`.
pub(in crate::rules) fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

/// The containers of a pod's `spec`, first the lasting ones.
pub(in crate::rules) fn containers(spec: &Node) -> impl Iterator<Item = &Node> {
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(|key| list(spec, key))
}

/// The image of the proxy in a pod's `spec`.
pub(in crate::rules) fn proxy_image(spec: &Node) -> Option<&Node> {
    containers(spec)
        .find(|container| container.str_at("name") == Some("istio-proxy"))?
        .get("image")
}

/// The Services and ServiceEntries behind a host that those who get the object see.
pub(in crate::rules) fn known<'m>(
    mesh: &'m Mesh,
    object: &'m Object,
    host: &str,
) -> Vec<&'m Object> {
    let clients = match mesh.export(object) {
        Export::Namespaces(names) => names,
        Export::Everywhere | Export::OwnNamespace | Export::Nowhere => {
            vec![object.id.namespace.as_str()]
        }
    };
    let is_seen = |object: &&Object| {
        clients
            .iter()
            .any(|client| mesh.is_exported_to(object, client))
    };
    mesh.registered(host).filter(is_seen).collect()
}

/// Where an object can be seen: namespaces, or `*`.
pub(in crate::rules) fn scopes<'m>(mesh: &'m Mesh, object: &'m Object) -> Vec<&'m str> {
    match mesh.export(object) {
        Export::Everywhere => vec!["*"],
        Export::OwnNamespace => vec![&object.id.namespace],
        Export::Namespaces(names) => names,
        Export::Nowhere => Vec::new(),
    }
}
