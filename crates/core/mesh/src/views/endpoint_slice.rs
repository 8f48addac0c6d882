//! `EndpointSlice`: the addresses behind a Service.

use meshladder_text::tree::{Node, Value};

use super::{Leaf, text, texts};

object_view! {
    /// A Kubernetes `EndpointSlice`.
    EndpointSlice
}

part_view! {
    /// One endpoint.
    SliceEndpoint
}

impl<'m> EndpointSlice<'m> {
    /// The Service that it belongs to.
    pub fn service_name(self) -> Option<&'m str> {
        self.object.label("kubernetes.io/service-name")
    }

    /// Its endpoints.
    pub fn endpoints(self) -> impl Iterator<Item = SliceEndpoint<'m>> {
        let endpoints = self.object.node.items_at("endpoints").iter();
        endpoints.map(SliceEndpoint::of)
    }

    /// Its ports, as written.
    pub fn ports(self) -> &'m [Node] {
        self.object.node.items_at("ports")
    }
}

impl<'m> SliceEndpoint<'m> {
    /// Its addresses.
    pub fn addresses(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("addresses"))
    }

    /// Whether traffic may go there. "A nil value should be interpreted as "true"."
    pub fn is_ready(self) -> bool {
        let ready = self.node.at(["conditions", "ready"]);
        ready.is_none_or(|ready| ready.value != Value::Bool(false))
    }

    /// The name of the pod behind it.
    pub fn pod_name(self) -> Option<&'m str> {
        let target = self.node.get("targetRef")?;
        target
            .str_at("name")
            .filter(|_| target.str_at("kind") == Some("Pod"))
    }

    /// The node it runs on.
    pub fn node_name(self) -> Option<Leaf<'m>> {
        text(self.node, "nodeName")
    }
}
