//! What routes of the Gateway API refer to: parents and backends.

use meshladder_mesh::{Mesh, Object};

pub(super) use meshladder_mesh::references::{GROUP, Reference, backends, parents};

pub(super) const GATEWAYS: &str = "k8s/gateways.gateway.networking.k8s.io.json";
pub(super) const REFERENCE_GRANTS: &str = "k8s/referencegrants.gateway.networking.k8s.io.json";
pub(super) const HTTP_ROUTES: &str = "k8s/httproutes.gateway.networking.k8s.io.json";
pub(super) const GRPC_ROUTES: &str = "k8s/grpcroutes.gateway.networking.k8s.io.json";
pub(super) const TCP_ROUTES: &str = "k8s/tcproutes.gateway.networking.k8s.io.json";
pub(super) const TLS_ROUTES: &str = "k8s/tlsroutes.gateway.networking.k8s.io.json";

/// The Gateways of the Gateway API.
pub(super) fn gateways(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    mesh.objects.of("Gateway", GROUP)
}

/// All routes.
pub(super) fn routes(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"]
        .into_iter()
        .flat_map(|kind| mesh.objects.of(kind, GROUP))
}
