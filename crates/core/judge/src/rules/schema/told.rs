//! How a fault of an object is told.

use crate::finding::{Evidence, Fix, Spot};
use crate::rules::{Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::{Flaw, SCHEMAS, SchemaFault};

/// The kinds that are looked at, where a bundle keeps them.
pub(super) const KINDS_READ: Inputs = Inputs::of(&[
    Kind::AuthorizationPolicy,
    Kind::BackendTlsPolicy,
    Kind::DestinationRule,
    Kind::EnvoyFilter,
    Kind::GatewayClass,
    Kind::Gateway,
    Kind::K8sGateway,
    Kind::GrpcRoute,
    Kind::HttpRoute,
    Kind::ListenerSet,
    Kind::PeerAuthentication,
    Kind::ProxyConfig,
    Kind::ReferenceGrant,
    Kind::RequestAuthentication,
    Kind::ServiceEntry,
    Kind::Service,
    Kind::Sidecar,
    Kind::TcpRoute,
    Kind::Telemetry,
    Kind::TlsRoute,
    Kind::TrafficExtension,
    Kind::UdpRoute,
    Kind::VirtualService,
    Kind::WasmPlugin,
    Kind::WorkloadEntry,
    Kind::WorkloadGroup,
]);

/// Tells every fault of a sort, with what repairs it, or with the advice.
pub(super) fn tell(facts: &Facts<'_>, flaw: Flaw, advice: &str, out: &mut Sink) {
    tell_those(facts, flaw, |_| true, advice, out);
}

/// Tells of those faults that bear on this mesh.
pub(super) fn tell_those(
    facts: &Facts<'_>,
    flaw: Flaw,
    bears: impl Fn(&SchemaFault) -> bool,
    advice: &str,
    out: &mut Sink,
) {
    let objects = &facts.mesh.objects;
    out.examined += SCHEMAS
        .iter()
        .map(|schema| objects.of_kind(schema.kind).len())
        .sum::<usize>();
    for fault in facts
        .faults()
        .iter()
        .filter(|fault| fault.flaw == flaw && bears(fault))
    {
        let (object, what) = (&fault.object, &fault.what);
        let message = match fault.place.as_str() {
            "" => format!("{object} {what}"),
            place => format!("{object}: {place} {what}"),
        };
        let pointer = fault.pointer.clone();
        let spot = match flaw {
            Flaw::UnknownField | Flaw::Deprecated => Spot::Key(pointer),
            _ => Spot::Pointer(pointer),
        };
        let proof = Evidence {
            doc: fault.doc.clone(),
            spot,
            shows: what.clone(),
        };
        let fix = match &fault.patch {
            Some(patch) => Fix::patch(object, patch.clone()),
            None => Fix::advice(advice),
        };
        out.find(object.clone(), message, proof).fix(fix);
    }
}
