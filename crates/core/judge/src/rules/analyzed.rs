//! What rules of objects share: the kinds they read, pods in the mesh, and what an object's clients
//! see.

use meshladder_capture::Kind;
use meshladder_mesh::export::Export;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// The label of the pods that istiod makes for a Gateway of the Gateway API: the Gateway's name.
pub(super) const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";
/// The label of what istiod makes for Gateways and waypoints.
pub(super) const GATEWAY_MANAGED: &str = "gateway.istio.io/managed";

/// The elements of the list `KEY`.
pub(super) fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

/// The containers of a pod's `spec`, first the lasting ones.
pub(super) fn containers(spec: &Node) -> impl Iterator<Item = &Node> {
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(|key| list(spec, key))
}

/// The image of the proxy in a pod's `spec`.
pub(super) fn proxy_image(spec: &Node) -> Option<&Node> {
    containers(spec)
        .find(|container| container.str_at("name") == Some("istio-proxy"))?
        .get("image")
}

/// Whether a container of the pod is the proxy.
pub(super) fn has_proxy(pod: &Object) -> bool {
    let image = pod.spec().and_then(proxy_image);
    image
        .and_then(Node::str)
        .is_some_and(|image| !image.is_empty())
}

/// Whether a pod has a proxy, will get one, or is ambient.
pub(super) fn is_in_mesh(mesh: &Mesh, pod: &Object) -> bool {
    has_proxy(pod)
        || pod.annotation("ambient.istio.io/redirection") == Some("enabled")
        || is_injected(mesh, pod, &pod.node)
}

/// Whether what is made from `template`, the part with `metadata` and `spec`, gets a proxy.
pub(super) fn is_injected(mesh: &Mesh, object: &Object, template: &Node) -> bool {
    let own = |part: &str| {
        template
            .at(["metadata", part, "sidecar.istio.io/inject"])
            .and_then(Node::str)
    };
    own("labels").or_else(|| own("annotations")).map_or_else(
        || {
            let namespace = mesh.objects.get(Kind::Namespace, "", &object.id.namespace);
            namespace.is_some_and(|namespace| namespace.label("istio-injection") == Some("enabled"))
        },
        |own| own == "true",
    )
}

/// The Services and ServiceEntries behind a host that those who get the object see.
pub(super) fn known<'m>(mesh: &'m Mesh, object: &'m Object, host: &str) -> Vec<&'m Object> {
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
pub(super) fn scopes<'m>(mesh: &'m Mesh, object: &'m Object) -> Vec<&'m str> {
    match mesh.export(object) {
        Export::Everywhere => vec!["*"],
        Export::OwnNamespace => vec![&object.id.namespace],
        Export::Namespaces(names) => names,
        Export::Nowhere => Vec::new(),
    }
}
