//! Where the routes of a VirtualService lead, and whether that exists.

use std::borrow::Cow;
use std::collections::BTreeSet;

use meshladder_mesh::services::number;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// A destination, or the entry of a route that lacks one.
pub(in crate::rules) struct Destination<'m> {
    pub(in crate::rules) node: &'m Node,
    /// Its full name; empty without one.
    pub(in crate::rules) host: Cow<'m, str>,
    pub(in crate::rules) port: Option<u16>,
    pub(in crate::rules) subset: Option<&'m str>,
}

/// Every destination, mirrors too.
pub(in crate::rules) fn of<'m>(mesh: &Mesh, service: &'m Object) -> Vec<Destination<'m>> {
    let mut found = Vec::new();
    for route in ["http", "tls", "tcp"]
        .into_iter()
        .flat_map(|kind| service.spec_list(kind))
    {
        let list = |key: &str| route.get(key).map_or(&[][..], Node::items).iter();
        let entries = list("route")
            .chain(list("mirrors"))
            .map(|entry| entry.get("destination").unwrap_or(entry));
        for node in entries.chain(route.get("mirror")) {
            let host = mesh.domain.fqdn(
                node.str_at("host").unwrap_or_default(),
                &service.id.namespace,
            );
            let port = node.at(["port", "number"]).and_then(number);
            found.push(Destination {
                node,
                host,
                port,
                subset: node.str_at("subset").filter(|name| !name.is_empty()),
            });
        }
    }
    found
}

/// The ports that they have.
pub(in crate::rules) fn ports(known: &[&Object]) -> BTreeSet<u16> {
    let all = known.iter().flat_map(|object| object.spec_list("ports"));
    all.filter_map(|port| number(port.get("port").or_else(|| port.get("number"))?))
        .collect()
}
