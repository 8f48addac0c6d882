//! How a fault of an object is told.

use crate::finding::{Evidence, Fix, Spot};
use crate::rules::{Facts, Sink};
use meshladder_mesh::schema::{Flaw, KINDS, SchemaFault};

/// The kinds that are looked at, where a bundle keeps them.
pub(super) const KINDS_READ: &[&str] = &[
    "k8s/authorizationpolicies.security.istio.io.json",
    "k8s/backendtlspolicies.gateway.networking.k8s.io.json",
    "k8s/destinationrules.networking.istio.io.json",
    "k8s/envoyfilters.networking.istio.io.json",
    "k8s/gatewayclasses.gateway.networking.k8s.io.json",
    "k8s/gateways.networking.istio.io.json",
    "k8s/grpcroutes.gateway.networking.k8s.io.json",
    "k8s/httproutes.gateway.networking.k8s.io.json",
    "k8s/listenersets.gateway.networking.k8s.io.json",
    "k8s/peerauthentications.security.istio.io.json",
    "k8s/proxyconfigs.networking.istio.io.json",
    "k8s/referencegrants.gateway.networking.k8s.io.json",
    "k8s/requestauthentications.security.istio.io.json",
    "k8s/serviceentries.networking.istio.io.json",
    "k8s/services.json",
    "k8s/sidecars.networking.istio.io.json",
    "k8s/tcproutes.gateway.networking.k8s.io.json",
    "k8s/telemetries.telemetry.istio.io.json",
    "k8s/tlsroutes.gateway.networking.k8s.io.json",
    "k8s/trafficextensions.extensions.istio.io.json",
    "k8s/udproutes.gateway.networking.k8s.io.json",
    "k8s/virtualservices.networking.istio.io.json",
    "k8s/wasmplugins.extensions.istio.io.json",
    "k8s/workloadentries.networking.istio.io.json",
    "k8s/workloadgroups.networking.istio.io.json",
];

/// Tells every fault of a sort, with what repairs it, or with the advice.
pub(super) fn tell(facts: &Facts<'_>, flaw: Flaw, advice: &str, out: &mut Sink) {
    tell_those(facts, flaw, |_| true, advice, out);
}

/// The same of those faults that bear on this mesh.
pub(super) fn tell_those(
    facts: &Facts<'_>,
    flaw: Flaw,
    bears: impl Fn(&SchemaFault) -> bool,
    advice: &str,
    out: &mut Sink,
) {
    let objects = &facts.mesh.objects;
    out.examined += KINDS
        .iter()
        .map(|kind| objects.of(kind.kind, kind.group).count())
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
            Some(patch) => Fix::json_patch(object, patch.clone()),
            None => Fix::advice(advice),
        };
        out.find(object.clone(), message, proof).fix(fix);
    }
}
