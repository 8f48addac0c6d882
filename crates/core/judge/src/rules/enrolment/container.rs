//! The containers of a pod, and how each is doing.

use crate::rules::Facts;
use meshladder_capture::Kind;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::tree::{Node, Value};

/// The container that the proxy runs in.
pub(super) const PROXY: &str = "istio-proxy";

/// The pods that have a proxy, in whatever phase.
pub(super) fn enrolled<'f>(
    facts: &Facts<'f>,
) -> impl Iterator<Item = (&'f PodFacts, &'f Object)> + use<'f> {
    let mesh = facts.mesh;
    let proxies = mesh.pods.iter().filter(|pod| pod.has_proxy);
    let stored = move |pod: &'f PodFacts| {
        Some((pod, mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name)?))
    };
    proxies
        .filter_map(stored)
        .filter(|(_, stored)| !is_leaving(stored))
}

/// A pod that is being deleted loses one thing after the other, and that is as it should be.
pub(in crate::rules) fn is_leaving(pod: &Object) -> bool {
    pod.node.at(["metadata", "deletionTimestamp"]).is_some()
}

/// The status of a container; a native sidecar is listed among the init containers.
pub(super) fn status<'p>(pod: &'p Object, name: &str) -> Option<&'p Node> {
    statuses(pod).find(|status| status.str_at("name") == Some(name))
}

/// The status of every container.
pub(super) fn statuses(pod: &Object) -> impl Iterator<Item = &Node> {
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter();
    lists.flat_map(|key| pod.node.at(["status", key]).map_or(&[][..], Node::items))
}

/// Whether the proxy is an init container that restarts always: it is up before the application
/// starts.
pub(super) fn is_native(pod: &Object) -> bool {
    pod.spec_list("initContainers")
        .iter()
        .any(|container| container.str_at("name") == Some(PROXY))
}

/// Whether a field of a status is true.
pub(super) fn is_true(status: &Node, key: &str) -> bool {
    status
        .get(key)
        .is_some_and(|node| node.value == Value::Bool(true))
}

/// A number of a status.
pub(super) fn count(status: &Node, key: &str) -> u64 {
    match status.get(key).map(|node| &node.value) {
        Some(Value::Number(text)) => text.parse().unwrap_or_default(),
        _ => 0,
    }
}
