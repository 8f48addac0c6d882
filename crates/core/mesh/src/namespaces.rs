//! Namespaces as selectors see them.

use super::Mesh;
use crate::selector::{self, LabelMismatch};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// The label that the API server gives to every namespace.
pub(super) const NAME: &str = "kubernetes.io/metadata.name";

/// What a namespace is to a selector.
pub(super) enum NamespaceMatch<'m> {
    Yes,
    No(LabelMismatch<'m>),
    /// Its labels are not known, and they decide.
    Unknown,
    /// Its labels are not known, and its name is another one than this requirement asks for.
    NotByName(&'m Node),
}

impl Mesh {
    /// Whether a `namespaceSelector` selects a namespace. Without the Namespace object, an empty
    /// selector can be decided, and one by the namespace's name.
    pub(super) fn selects_namespace<'m>(
        &'m self,
        selector: &'m Node,
        namespace: &str,
    ) -> NamespaceMatch<'m> {
        if let Some(object) = self.objects.get(Kind::Namespace, "", namespace) {
            return selector::unmet(selector, object.labels())
                .map_or(NamespaceMatch::Yes, NamespaceMatch::No);
        }
        let has_expressions = !selector
            .get("matchExpressions")
            .map_or(&[][..], Node::items)
            .is_empty();
        match selector.get("matchLabels").map_or(&[][..], Node::members) {
            _ if has_expressions => NamespaceMatch::Unknown,
            [] => NamespaceMatch::Yes,
            [only] if &*only.key == NAME && only.value.str() == Some(namespace) => {
                NamespaceMatch::Yes
            }
            [only] if &*only.key == NAME => NamespaceMatch::NotByName(&only.value),
            _ => NamespaceMatch::Unknown,
        }
    }
}
