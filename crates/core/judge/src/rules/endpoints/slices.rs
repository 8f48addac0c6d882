//! What EndpointSlices say, beside what a proxy has.

use meshladder_mesh::services::ports;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

/// One address of a Service's port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed<'m> {
    pub(super) slice: &'m Object,
    pub(super) address: &'m str,
    pub(super) is_ready: bool,
}

/// The addresses that EndpointSlices have for a Service's port.
pub(super) fn addresses<'m>(
    mesh: &'m Mesh,
    service: &Object,
    port: Option<u16>,
) -> Vec<Listed<'m>> {
    let name = ports(service)
        .find(|p| port == Some(p.number))
        .map(|p| p.name.to_owned());
    let mut found = Vec::new();
    for slice in mesh
        .endpoint_slices(service)
        .filter(|slice| has_port(slice, name.as_deref()))
    {
        for endpoint in slice.node.get("endpoints").map_or(&[][..], Node::items) {
            // "A nil value should be interpreted as "true"."
            let is_ready = endpoint
                .at(["conditions", "ready"])
                .is_none_or(|ready| ready.value != Value::Bool(false));
            let all = endpoint
                .get("addresses")
                .map_or(&[][..], Node::items)
                .iter()
                .filter_map(Node::str);
            found.extend(all.map(|address| Listed {
                slice,
                address,
                is_ready,
            }));
        }
    }
    found
}

fn has_port(slice: &Object, name: Option<&str>) -> bool {
    let listed = slice.node.get("ports").map_or(&[][..], Node::items);
    name.is_none_or(|name| {
        listed.iter().any(|port| {
            port.str_at("name").unwrap_or_default() == name && port.get("port").is_some()
        })
    })
}

/// Whether any pod has the address.
pub(super) fn has_pod(mesh: &Mesh, address: &str) -> bool {
    address
        .parse()
        .is_ok_and(|address| mesh.pods.iter().any(|pod| pod.ips.contains(&address)))
}

/// Whether any pod has the address, or any Service: what is led elsewhere by a route keeps the
/// address that was called.
pub(super) fn has_owner(mesh: &Mesh, address: &str) -> bool {
    let is_vip = address.parse().is_ok_and(|address| {
        let mut services = mesh.services.iter();
        services.any(|service| service.cluster_ips.contains(&address))
    });
    is_vip || has_pod(mesh, address)
}
