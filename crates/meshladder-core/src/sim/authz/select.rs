//! Which policies reach a workload.

use super::mesh::Mesh;
use crate::doc::tree::Node;
use crate::model::selector::has_labels;

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

/// The objects of a mesh that say who may do what.
#[derive(Clone, Debug, Default)]
pub struct Objects<'o> {
    /// Every `AuthorizationPolicy`.
    pub authorization_policies: Vec<&'o Node>,
    /// Every `RequestAuthentication`.
    pub request_authentications: Vec<&'o Node>,
    /// Every `PeerAuthentication`.
    pub peer_authentications: Vec<&'o Node>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource<'o> {
    pub(super) node: &'o Node,
}

impl<'o> Resource<'o> {
    pub(super) fn name(self) -> &'o str {
        self.metadata("name")
    }

    pub(super) fn namespace(self) -> &'o str {
        self.metadata("namespace")
    }

    fn metadata(self, key: &str) -> &'o str {
        self.node.at(["metadata", key]).and_then(Node::str).unwrap_or_default()
    }

    /// `ALLOW` unless it says otherwise.
    pub(super) fn action(self) -> &'o str {
        self.node.at(["spec", "action"]).and_then(Node::str).unwrap_or("ALLOW")
    }
}

/// Those of root namespace and namespace that reach the workload, the oldest first.
pub(super) fn reaching<'o>(objects: &[&'o Node], workload: &Workload<'_>, mesh: &Mesh) -> Vec<Resource<'o>> {
    let service = workload.service.map_or("", |(namespace, _)| namespace);
    let is_near = |namespace: &str| [&*mesh.root_namespace, workload.namespace, service].contains(&namespace);
    let mut found: Vec<_> = objects
        .iter()
        .map(|node| Resource { node })
        .filter(|object| is_near(object.namespace()) && attaches(*object, workload, mesh))
        .collect();
    found.sort_by_key(|object| (object.metadata("creationTimestamp"), object.name(), object.namespace()));
    found
}

fn attaches(object: Resource<'_>, workload: &Workload<'_>, mesh: &Mesh) -> bool {
    let spec = object.node.get("spec");
    let refs = spec.and_then(|spec| spec.get("targetRefs")).map_or(&[][..], Node::items);
    let single = spec.and_then(|spec| spec.get("targetRef")).filter(|_| refs.is_empty());
    let mut refs = refs.iter().chain(single).peekable();
    let gateway = workload.labels.and_then(|labels| labels.str_at("gateway.networking.k8s.io/gateway-name"));
    match (gateway, refs.peek().is_some()) {
        // "if targetRef is specified, ignore the policy altogether"
        (None, true) => false,
        (None, false) => selects(spec, workload),
        // "waypoints never use selector"
        (Some(_), false) => workload.service.is_none() && selects(spec, workload),
        (Some(gateway), true) => refs.any(|target| targets(target, object, gateway, workload, mesh)),
    }
}

fn selects(spec: Option<&Node>, workload: &Workload<'_>) -> bool {
    let labels = spec.and_then(|spec| spec.at(["selector", "matchLabels"]));
    labels.is_none_or(|wanted| has_labels(wanted, workload.labels))
}

fn targets(target: &Node, object: Resource<'_>, gateway: &str, workload: &Workload<'_>, mesh: &Mesh) -> bool {
    let text = |key: &str| target.str_at(key).unwrap_or_default();
    let same = |namespace: &str| object.namespace() == namespace && ["", namespace].contains(&text("namespace"));
    match (text("group"), text("kind"), workload.service) {
        ("" | "core", "Service", Some((namespace, name)))
        | ("networking.istio.io", "ServiceEntry", Some((namespace, name))) => {
            text("name") == name && object.namespace() == namespace
        }
        ("gateway.networking.k8s.io", "GatewayClass", Some(_)) => {
            object.namespace() == &*mesh.root_namespace && text("name") == "istio-waypoint"
        }
        ("gateway.networking.k8s.io", "Gateway", _) => text("name") == gateway && same(workload.namespace),
        _ => false,
    }
}
