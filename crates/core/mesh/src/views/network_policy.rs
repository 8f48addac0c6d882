//! `NetworkPolicy`: whom it is for. What it lets through, [`crate::network_policy`] tells.

use meshladder_text::tree::Node;

use super::{Leaf, texts};

object_view! {
    /// A Kubernetes `NetworkPolicy`.
    NetworkPolicy
}

impl<'m> NetworkPolicy<'m> {
    /// The label selector of its pods: an empty one selects all of its namespace.
    pub fn pod_selector(self) -> Option<&'m Node> {
        self.object.spec_at(["podSelector"])
    }

    /// `Ingress`, `Egress`, as written.
    pub fn types(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("policyTypes"))
    }

    /// What may come in, as written.
    pub fn ingress(self) -> &'m [Node] {
        self.object.spec_list("ingress")
    }

    /// What may go out, as written.
    pub fn egress(self) -> &'m [Node] {
        self.object.spec_list("egress")
    }
}
