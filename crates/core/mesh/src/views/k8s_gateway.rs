//! `Gateway` of the Gateway API.

use meshladder_text::tree::Node;

use super::{Leaf, filled, number, text};

object_view! {
    /// A `Gateway` of the Gateway API; Istio's is a [`super::Gateway`].
    K8sGateway
}

part_view! {
    /// One listener.
    Listener
}

impl<'m> K8sGateway<'m> {
    /// `gatewayClassName`
    pub fn class_name(self) -> Option<Leaf<'m>> {
        text(self.object.spec()?, "gatewayClassName")
    }

    /// Its listeners.
    pub fn listeners(self) -> impl Iterator<Item = Listener<'m>> {
        self.object.spec_list("listeners").iter().map(Listener::of)
    }

    /// The addresses that it was given: none before it is programmed.
    pub fn status_addresses(self) -> &'m [Node] {
        let addresses = self.object.node.at(["status", "addresses"]);
        addresses.map_or(&[][..], Node::items)
    }

    /// The condition of a type.
    pub fn condition(self, kind: &str) -> Option<&'m Node> {
        let conditions = self.object.node.at(["status", "conditions"])?.items();
        conditions
            .iter()
            .find(|condition| condition.str_at("type") == Some(kind))
    }

    /// The addresses it asks for, as written.
    pub fn addresses(self) -> &'m [Node] {
        self.object.spec_list("addresses")
    }
}

impl<'m> Listener<'m> {
    /// Its name.
    pub fn name(self) -> &'m str {
        self.node.str_at("name").unwrap_or_default()
    }

    /// Its port.
    pub fn port(self) -> Option<Leaf<'m, u16>> {
        number(self.node, "port")
    }

    /// `HTTP`, `HTTPS`, `TLS`, …; empty without one.
    pub fn protocol(self) -> &'m str {
        self.node.str_at("protocol").unwrap_or_default()
    }

    /// The host it is for; every one when it says none.
    pub fn hostname(self) -> Option<Leaf<'m>> {
        filled(self.node, "hostname")
    }

    /// `tls`
    pub fn tls(self) -> Option<&'m Node> {
        self.node.get("tls")
    }
}
