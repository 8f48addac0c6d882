//! What objects may say: the structure of Istio's kinds and of those of the Gateway API, and what
//! the admission webhook holds their values to. One file a kind; [`faults`] is one walk over each
//! object.

use std::sync::OnceLock;

use crate::{Mesh, Objects};

mod authorization_policy;
mod common;
mod describe;
mod destination_rule;
mod duration;
mod envoy_filter;
mod fault;
mod fields;
mod gateway;
mod guess;
mod header;
mod k8s;
mod names;
mod peer_authentication;
mod proxy_config;
mod request_authentication;
mod service_entry;
mod sidecar;
mod telemetry;
mod text;
mod traffic_extension;
mod virtual_service;
mod walk;
mod wasm_plugin;
mod workload_entry;
mod workload_group;

pub use describe::KindSchema;
pub use fault::{Flaw, SchemaFault};

/// Every kind that is known.
pub static KINDS: [&KindSchema; 25] = [
    &authorization_policy::KIND,
    &destination_rule::KIND,
    &envoy_filter::KIND,
    &gateway::KIND,
    &k8s::backend_tls_policy::KIND,
    &k8s::gateway::KIND,
    &k8s::gateway_class::KIND,
    &k8s::grpc_route::KIND,
    &k8s::http_route::KIND,
    &k8s::listener_set::KIND,
    &k8s::reference_grant::KIND,
    &k8s::stream_routes::TCP,
    &k8s::stream_routes::TLS,
    &k8s::stream_routes::UDP,
    &peer_authentication::KIND,
    &proxy_config::KIND,
    &request_authentication::KIND,
    &service_entry::KIND,
    &sidecar::KIND,
    &telemetry::KIND,
    &traffic_extension::KIND,
    &virtual_service::KIND,
    &wasm_plugin::KIND,
    &workload_entry::KIND,
    &workload_group::KIND,
];

/// All that is wrong with the objects, kind by kind.
pub fn faults(objects: &Objects) -> Vec<SchemaFault> {
    let of_kind = |kind: &'static KindSchema| {
        let objects = objects.of(kind.kind, kind.group);
        objects.flat_map(move |object| {
            walk::faults(object, kind)
                .into_iter()
                .map(fault::ObjectFault::told)
        })
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// The faults of a mesh, looked for when they are first asked for.
#[derive(Debug, Default)]
pub struct Faults(OnceLock<Vec<SchemaFault>>);

impl Faults {
    /// The faults of the mesh, which is always the same one.
    pub fn of(&self, mesh: &Mesh) -> &[SchemaFault] {
        self.0.get_or_init(|| faults(&mesh.objects))
    }
}

#[cfg(test)]
mod tests;
