//! `Sidecar`: what a proxy imports and takes.

use meshladder_text::tree::Node;

use super::{Leaf, number, texts};

object_view! {
    /// An Istio `Sidecar`.
    Sidecar
}

part_view! {
    /// What is imported, for one listener or for all: an element of `egress`.
    Egress
}

impl<'m> Sidecar<'m> {
    /// The labels of the pods it is for; none when it is for all of its namespace.
    pub fn selector(self) -> Option<&'m Node> {
        let labels = self.object.spec_at(["workloadSelector", "labels"]);
        labels.filter(|labels| !labels.members().is_empty())
    }

    /// What is imported.
    pub fn egress(self) -> impl Iterator<Item = Egress<'m>> {
        self.object.spec_list("egress").iter().map(Egress::of)
    }

    /// The ports that it takes requests on, as written.
    pub fn ingress(self) -> &'m [Node] {
        self.object.spec_list("ingress")
    }

    /// `ALLOW_ANY` or `REGISTRY_ONLY`, where it says one.
    pub fn outbound_mode(self) -> Option<Leaf<'m>> {
        self.object
            .spec_at(["outboundTrafficPolicy", "mode"])
            .and_then(Leaf::text)
    }
}

impl<'m> Egress<'m> {
    /// `namespace/host`, as written.
    pub fn hosts(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("hosts"))
    }

    /// The port of its listener; none when it is for all.
    pub fn port(self) -> Option<Leaf<'m, u16>> {
        number(self.node.get("port")?, "number")
    }
}
