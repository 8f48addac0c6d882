//! What routes of the Gateway API refer to: parents and backends.

use meshladder_capture::Kind;
use meshladder_mesh::{Mesh, Object};

pub(super) use meshladder_mesh::references::{GROUP, Reference, backends, parents};

/// The Gateways of the Gateway API.
pub(super) fn gateways(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    mesh.objects.of_kind(Kind::K8sGateway).iter()
}

/// All routes.
pub(super) fn routes(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    [
        Kind::HttpRoute,
        Kind::GrpcRoute,
        Kind::TcpRoute,
        Kind::TlsRoute,
    ]
    .into_iter()
    .flat_map(|kind| mesh.objects.of_kind(kind))
}
