//! What rules of objects share: the kinds they read, and pods in the mesh.

use crate::doc::tree::Node;
use crate::mesh::{Mesh, Stored};
use crate::model::selector::has_labels;

pub(super) const DEPLOYMENTS: &str = "k8s/deployments.apps.json";
pub(super) const DESTINATION_RULES: &str = "k8s/destinationrules.networking.istio.io.json";
pub(super) const ENVOY_FILTERS: &str = "k8s/envoyfilters.networking.istio.io.json";
pub(super) const GATEWAYS: &str = "k8s/gateways.networking.istio.io.json";
pub(super) const NAMESPACES: &str = "k8s/namespaces.json";
pub(super) const PODS: &str = "k8s/pods.json";
pub(super) const SERVICES: &str = "k8s/services.json";
pub(super) const SERVICE_ENTRIES: &str = "k8s/serviceentries.networking.istio.io.json";
pub(super) const SIDECARS: &str = "k8s/sidecars.networking.istio.io.json";
pub(super) const VIRTUAL_SERVICES: &str = "k8s/virtualservices.networking.istio.io.json";

/// Whether a container of the pod is the proxy.
pub(super) fn has_proxy(pod: &Stored) -> bool {
    let containers = ["containers", "initContainers"].into_iter().flat_map(|list| pod.spec_list(list));
    let mut proxies = containers.filter(|container| container.str_at("name") == Some("istio-proxy"));
    proxies.any(|proxy| proxy.str_at("image").is_some_and(|image| !image.is_empty()))
}

/// Whether a pod has a proxy, will get one, or is ambient.
pub(super) fn is_in_mesh(mesh: &Mesh, pod: &Stored) -> bool {
    if has_proxy(pod) || pod.annotation("ambient.istio.io/redirection") == Some("enabled") {
        return true;
    }
    let own = pod.label("sidecar.istio.io/inject").or_else(|| pod.annotation("sidecar.istio.io/inject"));
    own.map_or_else(
        || {
            let namespace = mesh.objects.get("Namespace", "", &pod.id.namespace);
            namespace.is_some_and(|namespace| namespace.label("istio-injection") == Some("enabled"))
        },
        |own| own == "true",
    )
}

/// The pods of a namespace that carry all of the labels.
pub(super) fn selected<'m>(mesh: &'m Mesh, namespace: &str, labels: &Node) -> Vec<&'m Stored> {
    mesh.objects.in_namespace("Pod", namespace).filter(|pod| has_labels(labels, pod.labels())).collect()
}
