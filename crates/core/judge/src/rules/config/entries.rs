//! ServiceEntries, port by port.

use meshladder_capture::Kind;
use meshladder_mesh::services::{Protocol, number};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// One port of a ServiceEntry.
#[derive(Clone, Copy)]
pub(super) struct Entry<'m> {
    pub(super) object: &'m Object,
    /// The port, as written.
    pub(super) node: &'m Node,
    pub(super) port: u16,
    pub(super) protocol: Protocol,
}

impl<'m> Entry<'m> {
    /// Whether it has an address of its own, or one that istiod allocated.
    pub(super) fn has_address(&self) -> bool {
        let allocated = self
            .object
            .node
            .at(["status", "addresses"])
            .map_or(&[][..], Node::items);
        !self.object.spec_list("addresses").is_empty() || !allocated.is_empty()
    }

    pub(super) fn resolution(&self) -> &'m str {
        resolution(self.object)
    }

    pub(super) fn hosts(&self) -> impl Iterator<Item = &'m str> + use<'m> {
        self.object.spec_strings("hosts")
    }
}

/// `resolution`; "NONE" when nothing is said.
pub(super) fn resolution(entry: &Object) -> &str {
    entry
        .spec_at(["resolution"])
        .and_then(Node::str)
        .unwrap_or("NONE")
}

/// Every port of every ServiceEntry.
pub(super) fn entries(mesh: &Mesh) -> impl Iterator<Item = Entry<'_>> {
    mesh.objects
        .of_kind(Kind::ServiceEntry)
        .iter()
        .flat_map(ports_of)
}

/// The ports of a ServiceEntry.
pub(super) fn ports_of(object: &Object) -> impl Iterator<Item = Entry<'_>> {
    object.spec_list("ports").iter().filter_map(move |node| {
        let protocol = Protocol::of_name(node.str_at("protocol").unwrap_or_default());
        Some(Entry {
            object,
            node,
            port: number(node.get("number")?)?,
            protocol,
        })
    })
}

/// Whether proxies answer DNS themselves, and so give hosts the addresses that istiod allocates.
pub(super) fn has_dns_capture(mesh: &Mesh) -> bool {
    let metadata = mesh.config.default_config("proxyMetadata");
    metadata.and_then(|metadata| metadata.str_at("ISTIO_META_DNS_CAPTURE")) == Some("true")
}
