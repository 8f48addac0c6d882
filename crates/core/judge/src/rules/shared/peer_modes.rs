//! What servers accept: plain text, mutual TLS or both.

use std::collections::BTreeSet;

use crate::rules::Facts;
use crate::rules::workloads::{self, Selectors};
use meshladder_capture::Kind;
use meshladder_mesh::Mesh;
use meshladder_mesh::peer_authentication::PeerMode;
use meshladder_mesh::policies::age;
use meshladder_mesh::views::PodTemplate;
use meshladder_text::tree::Node;

/// PeerAuthentications, found by the workload they are for.
pub(in crate::rules) struct PeerModes<'m> {
    mesh: &'m Mesh,
    selectors: Selectors<'m>,
    /// The namespaces with pods in the mesh; none when workloads are not known.
    in_mesh: Option<BTreeSet<&'m str>>,
}

impl<'m> PeerModes<'m> {
    pub(in crate::rules) fn of(facts: &Facts<'m>) -> Self {
        let mesh = facts.mesh;
        let in_mesh = workloads::are_known(facts).then(|| {
            let templates = workloads::templates(mesh);
            templates
                .filter(|one| one.is_in_mesh(mesh))
                .map(PodTemplate::namespace)
                .collect()
        });
        Self {
            mesh,
            selectors: Selectors::of(mesh.objects.of_kind(Kind::PeerAuthentication).iter()),
            in_mesh,
        }
    }

    /// What a workload accepts on a port.
    pub(in crate::rules) fn by(
        &self,
        namespace: &str,
        labels: Option<&Node>,
        port: u16,
    ) -> PeerMode<'m> {
        let root = &*self.mesh.config.root_namespace;
        // "When there are more than one policy in the same scope, the oldest one win."
        let of_namespace = |namespace: &str| {
            self.selectors
                .unlabelled(namespace)
                .map(|alike| alike.oldest)
        };
        let selecting = self.selectors.selecting(namespace, labels).into_iter();
        let mut policies: Vec<_> = selecting.map(|(_, alike)| alike.oldest).collect();
        policies.extend(of_namespace(namespace));
        policies.extend(of_namespace(root).filter(|_| namespace != root));
        policies.sort_by_key(|policy| age(&policy.node));
        self.mesh.mutual_tls_by(&policies, port)
    }

    /// What a namespace accepts where nothing is said of a workload.
    pub(in crate::rules) fn by_default(&self, namespace: &str) -> PeerMode<'m> {
        self.by(namespace, None, 0)
    }

    /// Whether pods of a namespace are in the mesh, as far as is known.
    pub(in crate::rules) fn has_mesh(&self, namespace: &str) -> bool {
        self.in_mesh
            .as_ref()
            .is_none_or(|namespaces| namespaces.contains(namespace))
    }
}
