//! Which pods a Sidecar is for.

use meshladder_mesh::views::{Namespace, Pod};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// The labels it selects; none for a whole namespace.
pub(super) fn labels(sidecar: &Object) -> Option<&Node> {
    sidecar
        .spec_at(["workloadSelector", "labels"])
        .filter(|labels| !labels.members().is_empty())
}

/// The pods it selects.
pub(super) fn pods<'m>(mesh: &'m Mesh, sidecar: &'m Object) -> impl Iterator<Item = &'m Object> {
    labels(sidecar)
        .into_iter()
        .flat_map(|labels| mesh.pods_with(Some(&sidecar.id.namespace), labels))
}

/// Whether ztunnel, not a sidecar, takes the pod's traffic.
pub(super) fn is_ambient(pod: &Object) -> bool {
    Pod::of(pod).is_ambient()
}

/// Whether the pods of a namespace are ambient.
pub(super) fn is_ambient_namespace(mesh: &Mesh, name: &str) -> bool {
    Namespace::get(&mesh.objects, "", name).is_some_and(Namespace::is_ambient)
}
