//! The annotations that Istio knows, and the kinds they are for.

use crate::rules::analyzed::GATEWAY_MANAGED;
use meshladder_capture::Kind;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Member, Node};

/// Kinds that any annotation is for.
const ANY: &[&str] = &[];
const POD: &[&str] = &["Pod"];
const SERVICE: &[&str] = &["Service"];
const GATEWAY: &[&str] = &["Gateway"];
const WORKLOAD_ENTRY: &[&str] = &["WorkloadEntry"];
const ROUTED: &[&str] = &["Service", "ServiceEntry", "Namespace"];

/// Every annotation with its kinds.
const KNOWN: &[(&str, &[&str])] = &[
    ("alpha.istio.io/canonical-serviceaccounts", SERVICE),
    ("alpha.istio.io/identity", POD),
    ("alpha.istio.io/kubernetes-serviceaccounts", SERVICE),
    ("ambient.istio.io/bypass-inbound-capture", POD),
    ("ambient.istio.io/dns-capture", POD),
    ("ambient.istio.io/redirection", POD),
    (
        "ambient.istio.io/waypoint-inbound-binding",
        &["GatewayClass"],
    ),
    ("galley.istio.io/analyze-suppress", ANY),
    ("gateway.istio.io/controller-version", GATEWAY),
    ("gateway.istio.io/name-override", GATEWAY),
    ("gateway.istio.io/service-account", GATEWAY),
    ("gateway.istio.io/tls-terminate-mode", GATEWAY),
    ("inject.istio.io/templates", POD),
    ("install.operator.istio.io/chart-owner", ANY),
    ("install.operator.istio.io/owner-generation", ANY),
    ("install.operator.istio.io/version", ANY),
    ("istio.io/autoRegistrationGroup", WORKLOAD_ENTRY),
    ("istio.io/connectedAt", WORKLOAD_ENTRY),
    ("istio.io/disconnectedAt", WORKLOAD_ENTRY),
    ("istio.io/dry-run", &["AuthorizationPolicy"]),
    ("istio.io/reroute-virtual-interfaces", POD),
    ("istio.io/use-waypoint-canary-weight", ROUTED),
    ("istio.io/workloadController", WORKLOAD_ENTRY),
    ("kubernetes.io/ingress.class", &["Ingress"]),
    ("networking.istio.io/address-type", GATEWAY),
    ("networking.istio.io/exportTo", SERVICE),
    ("networking.istio.io/service-type", GATEWAY),
    ("networking.istio.io/traffic-distribution", ROUTED),
    ("prometheus.istio.io/merge-metrics", POD),
    ("proxy.istio.io/config", POD),
    ("proxy.istio.io/overrides", POD),
    ("readiness.status.sidecar.istio.io/applicationPorts", POD),
    ("readiness.status.sidecar.istio.io/failureThreshold", POD),
    ("readiness.status.sidecar.istio.io/initialDelaySeconds", POD),
    ("readiness.status.sidecar.istio.io/periodSeconds", POD),
    ("security.istio.io/autoMTLS", POD),
    ("sidecar.istio.io/agentLogLevel", POD),
    ("sidecar.istio.io/bootstrapOverride", POD),
    ("sidecar.istio.io/componentLogLevel", POD),
    ("sidecar.istio.io/controlPlaneAuthPolicy", POD),
    ("sidecar.istio.io/discoveryAddress", POD),
    ("sidecar.istio.io/enableCoreDump", POD),
    ("sidecar.istio.io/extraStatTags", POD),
    ("sidecar.istio.io/inject", POD),
    ("sidecar.istio.io/interceptionMode", POD),
    ("sidecar.istio.io/logLevel", POD),
    ("sidecar.istio.io/nativeSidecar", POD),
    ("sidecar.istio.io/proxyCPU", POD),
    ("sidecar.istio.io/proxyCPULimit", POD),
    ("sidecar.istio.io/proxyImage", POD),
    ("sidecar.istio.io/proxyImageType", POD),
    ("sidecar.istio.io/proxyMemory", POD),
    ("sidecar.istio.io/proxyMemoryLimit", POD),
    ("sidecar.istio.io/rewriteAppHTTPProbers", POD),
    ("sidecar.istio.io/statsCompression", POD),
    ("sidecar.istio.io/statsEvictionInterval", POD),
    ("sidecar.istio.io/statsHistogramBuckets", POD),
    ("sidecar.istio.io/statsInclusionPrefixes", POD),
    ("sidecar.istio.io/statsInclusionRegexps", POD),
    ("sidecar.istio.io/statsInclusionSuffixes", POD),
    ("sidecar.istio.io/userVolume", POD),
    ("sidecar.istio.io/userVolumeMount", POD),
    ("status.sidecar.istio.io/port", POD),
    ("topology.istio.io/controlPlaneClusters", &["Namespace"]),
    ("traffic.istio.io/nodeSelector", SERVICE),
    ("traffic.sidecar.istio.io/excludeInboundPorts", POD),
    ("traffic.sidecar.istio.io/excludeInterfaces", POD),
    ("traffic.sidecar.istio.io/excludeOutboundIPRanges", POD),
    ("traffic.sidecar.istio.io/excludeOutboundPorts", POD),
    ("traffic.sidecar.istio.io/includeInboundPorts", POD),
    ("traffic.sidecar.istio.io/includeOutboundIPRanges", POD),
    ("traffic.sidecar.istio.io/includeOutboundPorts", POD),
    ("traffic.sidecar.istio.io/kubevirtInterfaces", POD),
];

/// Those that are deprecated.
const DEPRECATED: [&str; 12] = [
    "alpha.istio.io/canonical-serviceaccounts",
    "alpha.istio.io/identity",
    "alpha.istio.io/kubernetes-serviceaccounts",
    "sidecar.istio.io/controlPlaneAuthPolicy",
    "sidecar.istio.io/discoveryAddress",
    "sidecar.istio.io/extraStatTags",
    "sidecar.istio.io/inject",
    "sidecar.istio.io/statsCompression",
    "sidecar.istio.io/statsInclusionPrefixes",
    "sidecar.istio.io/statsInclusionRegexps",
    "sidecar.istio.io/statsInclusionSuffixes",
    "traffic.sidecar.istio.io/kubevirtInterfaces",
];

/// Those that are beta or stable.
const GROWN_UP: [&str; 4] = [
    "ambient.istio.io/redirection",
    "kubernetes.io/ingress.class",
    "proxy.istio.io/config",
    "traffic.istio.io/nodeSelector",
];

/// Set by Istio itself, on whatever it makes.
const OWN: [&str; 3] = [
    "sidecar.istio.io/status",
    "istio.io/rev",
    "gateway.istio.io/controller-version",
];

/// Each annotation of Istio's on a Namespace, Service, Pod or Deployment that a person wrote. What
/// istiod makes for a Gateway has the Gateway's annotations.
pub(super) fn written(mesh: &Mesh) -> impl Iterator<Item = (&Object, &Member)> {
    let objects = [Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]
        .into_iter()
        .flat_map(|kind| mesh.objects.of_kind(kind));
    let by_hand = objects.filter(|object| object.label(GATEWAY_MANAGED).is_none());
    by_hand.flat_map(|object| {
        let all = object
            .node
            .at(["metadata", "annotations"])
            .map_or(&[][..], Node::members)
            .iter();
        all.filter(|member| is_istios(&member.key))
            .map(move |member| (object, member))
    })
}

/// The kinds that an annotation is for, none at all meaning any; nothing for one that is not known.
pub(super) fn kinds(key: &str) -> Option<&'static [&'static str]> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == key)
        .map(|(_, kinds)| *kinds)
}

/// Whether it is on a kind that it is for.
pub(super) fn is_in_place(object: &Object, key: &str) -> bool {
    kinds(key).is_some_and(|kinds| kinds.is_empty() || kinds.contains(&object.id.kind.as_str()))
}

/// Whether it is deprecated.
pub(super) fn is_deprecated(key: &str) -> bool {
    DEPRECATED.contains(&key)
}

/// Whether it is known and an alpha feature, which all but a few are.
pub(super) fn is_alpha(key: &str) -> bool {
    kinds(key).is_some() && !GROWN_UP.contains(&key)
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

fn is_istios(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    (domain.ends_with("istio.io") || key == "kubernetes.io/ingress.class") && !OWN.contains(&key)
}
