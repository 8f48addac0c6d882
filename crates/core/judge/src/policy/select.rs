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
        self.node
            .at(["metadata", key])
            .and_then(Node::str)
            .unwrap_or_default()
    }

    /// `ALLOW` unless it says otherwise.
    pub(super) fn action(self) -> &'o str {
        self.node
            .at(["spec", "action"])
            .and_then(Node::str)
            .unwrap_or("ALLOW")
    }
}

/// Those that reach the workload, the oldest first.
pub(super) fn reaching<'o>(
    objects: &[&'o Node],
    workload: &Workload<'_>,
    mesh: &MeshConfig,
) -> Vec<PolicyObject<'o>> {
    let mut found: Vec<_> = objects
        .iter()
        .copied()
        .filter(|policy| policies::reaches(policy, workload, &mesh.root_namespace))
        .collect();
    found.sort_by_key(|policy| policies::age(policy));
    found
        .into_iter()
        .map(|node| PolicyObject { node })
        .collect()
}
