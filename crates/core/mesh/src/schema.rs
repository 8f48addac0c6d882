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

/// The structure of every kind that is known.
pub static SCHEMAS: [&KindSchema; 25] = [
    &authorization_policy::SCHEMA,
    &destination_rule::SCHEMA,
    &envoy_filter::SCHEMA,
    &gateway::SCHEMA,
    &k8s::backend_tls_policy::SCHEMA,
    &k8s::gateway::SCHEMA,
    &k8s::gateway_class::SCHEMA,
    &k8s::grpc_route::SCHEMA,
    &k8s::http_route::SCHEMA,
    &k8s::listener_set::SCHEMA,
    &k8s::reference_grant::SCHEMA,
    &k8s::stream_routes::TCP,
    &k8s::stream_routes::TLS,
    &k8s::stream_routes::UDP,
    &peer_authentication::SCHEMA,
    &proxy_config::SCHEMA,
    &request_authentication::SCHEMA,
    &service_entry::SCHEMA,
    &sidecar::SCHEMA,
    &telemetry::SCHEMA,
    &traffic_extension::SCHEMA,
    &virtual_service::SCHEMA,
    &wasm_plugin::SCHEMA,
    &workload_entry::SCHEMA,
    &workload_group::SCHEMA,
];

/// All that is wrong with the objects, kind by kind.
pub fn faults(objects: &Objects) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    for schema in SCHEMAS {
        for object in objects.of_kind(schema.kind) {
            // Of an object that names no group nobody knows what it may say.
            if object.group != schema.kind.group() {
                continue;
            }
            for fault in walk::faults(object, schema) {
                faults.push(fault.told());
            }
        }
    }
    faults
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
