//! What rules of objects share: the kinds they read, pods in the mesh, and what an object's clients
//! see.

use meshladder_mesh::export::Export;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) const AUTHORIZATION_POLICIES: &str = "k8s/authorizationpolicies.security.istio.io.json";
pub(super) const CONFIG_MAPS: &str = "k8s/configmaps.json";
pub(super) const CUSTOM_RESOURCE_DEFINITIONS: &str =
    "k8s/customresourcedefinitions.apiextensions.k8s.io.json";
pub(super) const DEPLOYMENTS: &str = "k8s/deployments.apps.json";
pub(super) const DESTINATION_RULES: &str = "k8s/destinationrules.networking.istio.io.json";
pub(super) const ENVOY_FILTERS: &str = "k8s/envoyfilters.networking.istio.io.json";
pub(super) const GATEWAYS: &str = "k8s/gateways.networking.istio.io.json";
pub(super) const GRPC_ROUTES: &str = "k8s/grpcroutes.gateway.networking.k8s.io.json";
pub(super) const HTTP_ROUTES: &str = "k8s/httproutes.gateway.networking.k8s.io.json";
pub(super) const MUTATING_WEBHOOKS: &str =
    "k8s/mutatingwebhookconfigurations.admissionregistration.k8s.io.json";
pub(super) const NAMESPACES: &str = "k8s/namespaces.json";
pub(super) const NODES: &str = "k8s/nodes.json";
pub(super) const PEER_AUTHENTICATIONS: &str = "k8s/peerauthentications.security.istio.io.json";
pub(super) const PODS: &str = "k8s/pods.json";
pub(super) const PROXY_CONFIGS: &str = "k8s/proxyconfigs.networking.istio.io.json";
pub(super) const REQUEST_AUTHENTICATIONS: &str =
    "k8s/requestauthentications.security.istio.io.json";
pub(super) const SECRETS: &str = "k8s/secrets.json";
pub(super) const SERVICES: &str = "k8s/services.json";
pub(super) const SERVICE_ENTRIES: &str = "k8s/serviceentries.networking.istio.io.json";
pub(super) const SIDECARS: &str = "k8s/sidecars.networking.istio.io.json";
pub(super) const TELEMETRIES: &str = "k8s/telemetries.telemetry.istio.io.json";
pub(super) const VALIDATING_WEBHOOKS: &str =
    "k8s/validatingwebhookconfigurations.admissionregistration.k8s.io.json";
pub(super) const VIRTUAL_SERVICES: &str = "k8s/virtualservices.networking.istio.io.json";
pub(super) const WASM_PLUGINS: &str = "k8s/wasmplugins.extensions.istio.io.json";
pub(super) const WORKLOAD_ENTRIES: &str = "k8s/workloadentries.networking.istio.io.json";

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
            let namespace = mesh.objects.get("Namespace", "", &object.id.namespace);
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
