//! Which proxies have something to say of an object.

use meshladder_mesh::gateways::gateway_name;
use meshladder_mesh::traffic::destinations;
use meshladder_mesh::{Mesh, Object, ObjectRef};

/// The pods whose proxies an object is about: the pod itself, those behind a Service, those that a
/// VirtualService leads to and the gateways that take requests for it, those that run a Gateway.
/// For who has not asked them yet.
pub fn concerned(mesh: &Mesh, object: &ObjectRef) -> Vec<ObjectRef> {
    let Some(stored) = mesh.objects.find(object) else {
        return Vec::new();
    };
    let pods = match object.kind.as_str() {
        "Pod" => vec![stored],
        "Service" => mesh.selected_pods(stored),
        "VirtualService" => of_virtual_service(mesh, stored),
        "Gateway" => mesh
            .gateway(&object.namespace, &object.name)
            .map_or_else(Vec::new, |own| mesh.gateway_pods(own)),
        _ => Vec::new(),
    };
    let mut names: Vec<ObjectRef> = pods.into_iter().map(|pod| pod.id.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn of_virtual_service<'m>(mesh: &'m Mesh, service: &'m Object) -> Vec<&'m Object> {
    let named = service.spec_strings("gateways").filter_map(|name| {
        let (namespace, name) = gateway_name(name, &service.id.namespace);
        mesh.gateway(namespace, name)
    });
    let mut pods: Vec<&Object> = named
        .flat_map(|gateway| mesh.gateway_pods(gateway))
        .collect();
    for to in destinations(service, &mesh.domain) {
        pods.extend(
            mesh.service_of_host(&to.host)
                .map_or_else(Vec::new, |service| mesh.selected_pods(service)),
        );
    }
    pods
}
