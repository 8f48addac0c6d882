//! The Service that was probably meant.

pub(in crate::rules) use meshladder_text::near::{distance, nearest};

use meshladder_capture::Kind;
use meshladder_mesh::Mesh;

/// The full name of the Service that an unknown host was probably meant to be: `catalog.shop`
/// written for `catalog.shop.svc.cluster.local`, the right name in another namespace, or a slip of
/// the finger.
pub(super) fn nearest_service(mesh: &Mesh, host: &str) -> Option<String> {
    let full = |name: &str, namespace: &str| mesh.domain.service(name, namespace);
    let short = host.strip_suffix(".svc").unwrap_or(host);
    if let Some((name, namespace)) = short
        .split_once('.')
        .filter(|(_, namespace)| !namespace.contains('.'))
    {
        return mesh.service(namespace, name).map(|_| full(name, namespace));
    }
    let (name, namespace) = mesh.domain.service_name(host)?;
    let beside = mesh
        .objects
        .in_namespace(Kind::Service, namespace)
        .map(|service| service.id.name.as_str());
    if let Some(near) = nearest(name, beside) {
        return Some(full(near, namespace));
    }
    let mut elsewhere = mesh.services.iter().filter(|service| service.name == name);
    let only = elsewhere.next().filter(|_| elsewhere.next().is_none())?;
    Some(full(&only.name, &only.namespace))
}
