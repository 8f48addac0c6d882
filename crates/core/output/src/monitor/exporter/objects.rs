//! What objects say that metrics are compared with.

use super::Family;
use meshladder_judge::canary::{self, Label};
use meshladder_mesh::Mesh;

/// The weights of every service that is split by version. Labels are those of Istio's metrics, so
/// that they can be joined.
pub(super) fn weights(mesh: &Mesh) -> Family {
    let mut family = Family::new(
        "meshladder_route_weight",
        "The share of requests that a version should get, from 0 to 1",
    );
    for service in mesh.services.iter() {
        let Ok(split) = canary::configured(mesh, &service.namespace, &service.name) else {
            continue;
        };
        if split.label != Label::Version || split.parts.len() < 2 || !split.notes.is_empty() {
            continue;
        }
        for part in &split.parts {
            let labels = [
                ("destination_service_namespace", service.namespace.as_str()),
                ("destination_service_name", service.name.as_str()),
                ("destination_version", part.name.as_str()),
            ];
            family.add(0, labels, part.share);
        }
    }
    family
}
