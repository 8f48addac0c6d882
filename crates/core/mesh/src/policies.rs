//! Which policies reach a workload: by namespace, selector and targetRefs.

use super::{Mesh, Object};
use crate::selector::has_labels;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// The workload that policies are looked up for.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'w> {
    /// Its namespace.
    pub namespace: &'w str,
    /// Its pod's labels.
    pub labels: Option<&'w Node>,
    /// For a waypoint: the service that is called, as namespace and name.
    pub service: Option<(&'w str, &'w str)>,
}

impl<'w> Workload<'w> {
    /// A pod as a workload.
    pub fn of(pod: &'w Object) -> Self {
        Self {
            namespace: &pod.id.namespace,
            labels: pod.labels(),
            service: None,
        }
    }
}

impl Mesh {
    /// The policies of a kind (`AuthorizationPolicy`, `RequestAuthentication`,
    /// `PeerAuthentication`, `Telemetry`, `EnvoyFilter`, `WasmPlugin`, …) that reach a workload,
    /// the oldest first.
    pub fn policies<'m>(&'m self, kind: Kind, workload: &Workload<'_>) -> Vec<&'m Object> {
        let root = &*self.config.root_namespace;
        let mut namespaces = vec![
            root,
            workload.namespace,
            workload.service.map_or(root, |(namespace, _)| namespace),
        ];
        namespaces.sort_unstable();
        namespaces.dedup();
        let near = namespaces
            .into_iter()
            .flat_map(|namespace| self.objects.in_namespace(kind, namespace));
        let mut found: Vec<_> = near
            .filter(|policy| reaches(&policy.node, workload, root))
            .collect();
        found.sort_by_key(|policy| age(&policy.node));
        found
    }
}

/// What istiod sorts objects by, the oldest first: creation time, then name, then namespace.
pub fn age(object: &Node) -> (&str, &str, &str) {
    (
        metadata(object, "creationTimestamp"),
        metadata(object, "name"),
        metadata(object, "namespace"),
    )
}

/// Whether a policy is in the workload's namespace, or the root namespace, and selects it.
pub fn reaches(policy: &Node, workload: &Workload<'_>, root_namespace: &str) -> bool {
    let service = workload.service.map_or("", |(namespace, _)| namespace);
    [root_namespace, workload.namespace, service].contains(&metadata(policy, "namespace"))
        && attaches(policy, workload, root_namespace)
}

fn metadata<'o>(object: &'o Node, key: &str) -> &'o str {
    object
        .at(["metadata", key])
        .and_then(Node::str)
        .unwrap_or_default()
}

fn attaches(policy: &Node, workload: &Workload<'_>, root_namespace: &str) -> bool {
    let spec = policy.get("spec");
    let refs = spec
        .and_then(|spec| spec.get("targetRefs"))
        .map_or(&[][..], Node::items);
    let single = spec
        .and_then(|spec| spec.get("targetRef"))
        .filter(|_| refs.is_empty());
    let mut refs = refs.iter().chain(single).peekable();
    let gateway = workload
        .labels
        .and_then(|labels| labels.str_at("gateway.networking.k8s.io/gateway-name"));
    match (gateway, refs.peek().is_some()) {
        // "if targetRef is specified, ignore the policy altogether"
        (None, true) => false,
        (None, false) => selects(spec, workload.labels),
        // "waypoints never use selector"
        (Some(_), false) => workload.service.is_none() && selects(spec, workload.labels),
        (Some(gateway), true) => {
            refs.any(|target| targets(target, policy, gateway, workload, root_namespace))
        }
    }
}

/// Whether the spec's selector takes a workload with these labels; one without a selector takes
/// all.
pub(super) fn selects(spec: Option<&Node>, labels: Option<&Node>) -> bool {
    selector(spec).is_none_or(|wanted| has_labels(wanted, labels))
}

/// The labels an object wants of a workload. Istio has three ways to write them.
pub fn selector(spec: Option<&Node>) -> Option<&Node> {
    let spec = spec?;
    let found = spec
        .at(["selector", "matchLabels"])
        .or_else(|| spec.at(["workloadSelector", "labels"]))
        .or_else(|| spec.at(["workloadSelector", "matchLabels"]));
    found.filter(|labels| !labels.members().is_empty())
}

fn targets(
    target: &Node,
    policy: &Node,
    gateway: &str,
    workload: &Workload<'_>,
    root_namespace: &str,
) -> bool {
    let text = |key: &str| target.str_at(key).unwrap_or_default();
    let own = metadata(policy, "namespace");
    let same = |namespace: &str| own == namespace && ["", namespace].contains(&text("namespace"));
    match (text("group"), text("kind"), workload.service) {
        ("" | "core", "Service", Some((namespace, name)))
        | ("networking.istio.io", "ServiceEntry", Some((namespace, name))) => {
            text("name") == name && own == namespace
        }
        ("gateway.networking.k8s.io", "GatewayClass", Some(_)) => {
            own == root_namespace && text("name") == "istio-waypoint"
        }
        ("gateway.networking.k8s.io", "Gateway", _) => {
            text("name") == gateway && same(workload.namespace)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

    #[test]
    fn policies_reach_by_namespace_and_by_each_way_to_select() {
        let mesh = mesh_of(
            "kind: Pod
metadata: {name: cart, namespace: shop, labels: {app: cart}}
---
kind: EnvoyFilter
metadata: {name: mine, namespace: shop, creationTimestamp: '2026-01-02T00:00:00Z'}
spec: {workloadSelector: {labels: {app: cart}}}
---
kind: EnvoyFilter
metadata: {name: other, namespace: shop}
spec: {workloadSelector: {labels: {app: web}}}
---
kind: EnvoyFilter
metadata: {name: everywhere, namespace: istio-system, creationTimestamp: '2026-01-01T00:00:00Z'}
---
kind: EnvoyFilter
metadata: {name: elsewhere, namespace: tools}
",
        );
        let pod = mesh
            .objects
            .get(Kind::Pod, "shop", "cart")
            .expect("it is there");
        let found = mesh.policies(Kind::EnvoyFilter, &Workload::of(pod));
        let names: Vec<_> = found.iter().map(|object| object.id.name.as_str()).collect();
        assert_eq!(names, ["everywhere", "mine"]);
    }
}
