//! `Event`: what Kubernetes said of an object.

use meshladder_text::tree::Node;

object_view! {
    /// An event.
    Event
}

impl<'m> Event<'m> {
    /// The name of the object it is about.
    pub fn about(self) -> &'m str {
        let name = self.object.node.at(["involvedObject", "name"]);
        name.and_then(Node::str).unwrap_or_default()
    }

    /// `FailedCreate`, `Unhealthy`, …
    pub fn reason(self) -> &'m str {
        self.object.node.str_at("reason").unwrap_or_default()
    }

    /// What was said.
    pub fn message(self) -> &'m str {
        self.object.node.str_at("message").unwrap_or_default()
    }
}
