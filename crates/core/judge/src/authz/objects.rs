//! The objects that authorization depends on.

use crate::policy;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Meta, Need, Snapshot};
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, MeshConfig, Object};
use meshladder_text::tree::Node;

/// What makes pods.
const WORKLOADS: [Kind; 5] = [
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::ReplicaSet,
    Kind::Job,
];

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuthzObjects<'m> {
    mesh: &'m Mesh,
}

impl<'m> AuthzObjects<'m> {
    pub(super) fn new(mesh: &'m Mesh) -> Self {
        Self { mesh }
    }

    pub(super) fn settings(self) -> &'m MeshConfig {
        &self.mesh.config
    }

    /// `pathNormalization.normalization` of the mesh.
    pub(super) fn normalization(self) -> &'m str {
        let tree = self.mesh.config.tree.as_ref();
        tree.and_then(|tree| tree.at(["pathNormalization", "normalization"])?.str())
            .unwrap_or_default()
    }

    pub(super) fn services(self) -> impl Iterator<Item = &'m Object> + use<'m> {
        self.mesh.objects.of_kind(Kind::Service).iter()
    }

    /// The Deployment, or its like, of that name.
    pub(super) fn workload(self, namespace: &str, name: &str) -> Option<&'m Object> {
        WORKLOADS
            .iter()
            .find_map(|kind| self.mesh.objects.get(*kind, namespace, name))
    }

    /// The named ports of a pod.
    pub(super) fn ports(self, namespace: &str, name: &str) -> Vec<(String, u16)> {
        named_ports(
            self.mesh
                .objects
                .get(Kind::Pod, namespace, name)
                .and_then(Object::spec),
        )
    }

    fn security(self, kind: Kind) -> impl Iterator<Item = &'m Object> + use<'m> {
        self.mesh.objects.of_kind(kind).iter()
    }

    /// What the evaluator takes.
    pub(super) fn policies(self) -> policy::PolicyObjects<'m> {
        let of = |kind: Kind| self.security(kind).map(|policy| &policy.node).collect();
        policy::PolicyObjects {
            authorization_policies: of(Kind::AuthorizationPolicy),
            request_authentications: of(Kind::RequestAuthentication),
        }
    }

    pub(super) fn find_policy(self, kind: Kind, namespace: &str, name: &str) -> Option<&'m Object> {
        self.security(kind)
            .find(|policy| policy.id.namespace == namespace && policy.id.name == name)
    }

    /// The kind of policies that could not be listed, and why: there may be more than we see.
    pub(super) fn missing(self, snapshot: &Snapshot) -> Option<String> {
        KINDS.iter().find_map(|kind| {
            let need = Need::Objects(*kind);
            let mut lacking = None;
            for source in snapshot.sources() {
                match snapshot.coverage_in(source.0, &need) {
                    // What one source has, another need not have.
                    Coverage::Complete => return None,
                    _ if self.are_given_files(source) => return None,
                    Coverage::Denied(why) | Coverage::Partial(why) | Coverage::Lost(why) => {
                        lacking = Some(format!("all {need}: {why}"));
                    }
                    Coverage::NotAsked => {}
                }
            }
            Some(lacking.unwrap_or_else(|| format!("the {need}, which the source does not have")))
        })
    }

    /// A folder of YAML is what its owner says it is, once it has a policy at all.
    fn are_given_files(self, (name, meta): (&str, Option<&Meta>)) -> bool {
        let mut policies = KINDS.into_iter().flat_map(|kind| self.security(kind));
        meta.is_some_and(|meta| meta.form == "files")
            && policies.any(|policy| policy.doc.split().0 == name)
    }

    /// An object that may put a filter into the inbound chains of a workload, where it may decide
    /// before any policy.
    pub(super) fn find_patch(self, namespace: &str, labels: &Node) -> Option<&'m Object> {
        let root = &*self.settings().root_namespace;
        let is_near =
            |patch: &&Object| patch.id.namespace == namespace || patch.id.namespace == *root;
        let selects = |patch: &&Object| {
            let wanted = patch
                .spec_at(["workloadSelector", "labels"])
                .or_else(|| patch.spec_at(["selector", "matchLabels"]));
            wanted.is_none_or(|wanted| has_labels(wanted, Some(labels)))
        };
        let patches = [Kind::EnvoyFilter, Kind::WasmPlugin]
            .into_iter()
            .flat_map(|kind| self.mesh.objects.of_kind(kind));
        let mut near = patches.filter(is_near).filter(selects);
        near.find(|patch| patch.id.is(Kind::WasmPlugin) || adds_filters(&patch.node))
    }

    /// What to bear in mind of policies that were given as files.
    pub(super) fn note(self, snapshot: &Snapshot) -> Option<String> {
        let given = snapshot
            .sources()
            .any(|source| self.are_given_files(source));
        given.then(|| "only the policies in the files given are known".to_owned())
    }
}

fn adds_filters(envoy_filter: &Node) -> bool {
    let patches = envoy_filter
        .at(["spec", "configPatches"])
        .map_or(&[][..], Node::items);
    patches.iter().any(|patch| {
        let context = patch
            .at(["match", "context"])
            .and_then(Node::str)
            .unwrap_or("ANY");
        let operation = patch
            .at(["patch", "operation"])
            .and_then(Node::str)
            .unwrap_or_default();
        let apply_to = patch.str_at("applyTo").unwrap_or_default();
        ["ANY", "SIDECAR_INBOUND"].contains(&context)
            && operation != "MERGE"
            && ["HTTP_FILTER", "NETWORK_FILTER", "FILTER_CHAIN", "LISTENER"].contains(&apply_to)
    })
}

const KINDS: [Kind; 3] = [
    Kind::AuthorizationPolicy,
    Kind::RequestAuthentication,
    Kind::PeerAuthentication,
];

/// Name and number of the ports that a pod's containers declare.
pub(super) fn named_ports(spec: Option<&Node>) -> Vec<(String, u16)> {
    let containers = |key| {
        spec.and_then(|spec| spec.get(key))
            .map_or(&[][..], Node::items)
    };
    let all = containers("containers")
        .iter()
        .chain(containers("initContainers"));
    let ports = all.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    ports
        .filter_map(|port| {
            Some((
                port.str_at("name")?.to_owned(),
                super::port::number(port.get("containerPort")?)?,
            ))
        })
        .collect()
}
