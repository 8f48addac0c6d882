//! `PeerAuthentication`: whether mutual TLS is demanded.

use meshladder_text::tree::Node;

use super::Leaf;

object_view! {
    /// An Istio `PeerAuthentication`.
    PeerAuthentication
}

impl<'m> PeerAuthentication<'m> {
    /// The labels of the pods it is for; none when it is for all of its namespace.
    pub fn selector(self) -> Option<&'m Node> {
        let labels = self.object.spec_at(["selector", "matchLabels"]);
        labels.filter(|labels| !labels.members().is_empty())
    }

    /// The mode for all ports, where it says one.
    pub fn mode(self) -> Option<Leaf<'m>> {
        self.object.spec_at(["mtls", "mode"]).and_then(Leaf::text)
    }

    /// The modes of single ports.
    pub fn port_modes(self) -> impl Iterator<Item = (u16, Leaf<'m>)> {
        let ports = self.object.spec_at(["portLevelMtls"]);
        let ports = ports.map_or(&[][..], Node::members).iter();
        ports.filter_map(|port| {
            let mode = port.value.get("mode").and_then(Leaf::text)?;
            Some((port.key.parse().ok()?, mode))
        })
    }
}
