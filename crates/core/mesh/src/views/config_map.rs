//! `ConfigMap`.

use super::Leaf;

object_view! {
    /// A Kubernetes `ConfigMap`.
    ConfigMap
}

impl<'m> ConfigMap<'m> {
    /// The text of a key.
    pub fn data(self, key: &str) -> Option<Leaf<'m>> {
        self.object.node.at(["data", key]).and_then(Leaf::text)
    }
}
