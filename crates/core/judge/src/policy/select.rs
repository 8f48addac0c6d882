//! The objects that authorization is made of.

use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::{self, Workload};
use meshladder_text::tree::Node;

/// The objects of a mesh that say who may do what.
#[derive(Clone, Debug, Default)]
pub struct PolicyObjects<'o> {
    /// Every `AuthorizationPolicy`.
    pub authorization_policies: Vec<&'o Node>,
    /// Every `RequestAuthentication`.
    pub request_authentications: Vec<&'o Node>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyObject<'o> {
    pub(super) node: &'o Node,
}

impl<'o> PolicyObject<'o> {
    pub(super) fn name(self) -> &'o str {
        self.metadata("name")
    }

    pub(super) fn namespace(self) -> &'o str {
        self.metadata("namespace")
    }

    fn metadata(self, key: &str) -> &'o str {
        let value = self.node.at(["metadata", key]);
        value.and_then(Node::str).unwrap_or_default()
    }

    /// `ALLOW` unless it says otherwise.
    pub(super) fn action(self) -> &'o str {
        self.spec("action").and_then(Node::str).unwrap_or("ALLOW")
    }

    /// The provider of a CUSTOM policy; empty when it names none.
    pub(super) fn provider(self) -> &'o str {
        let name = self.node.at(["spec", "provider", "name"]);
        name.and_then(Node::str).unwrap_or_default()
    }

    pub(super) fn rules(self) -> &'o [Node] {
        self.spec("rules").map_or(&[], Node::items)
    }

    fn spec(self, key: &str) -> Option<&'o Node> {
        self.node.at(["spec", key])
    }
}

/// Those that reach the workload, the oldest first.
pub(super) fn reaching<'o>(
    objects: &[&'o Node],
    workload: &Workload<'_>,
    mesh: &MeshConfig,
) -> Vec<PolicyObject<'o>> {
    let mut reaching = Vec::new();
    for &node in objects {
        if policies::reaches(node, workload, &mesh.root_namespace) {
            reaching.push(PolicyObject { node });
        }
    }
    reaching.sort_by_key(|policy| policies::age(policy.node));
    reaching
}
