//! The kinds of object that are read, and how each is.

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) plural: &'static str,
    /// Empty for the core group.
    pub(crate) group: &'static str,
    /// The versions that may be served, the one to prefer first.
    pub(crate) versions: &'static [&'static str],
    /// The name of one: `VirtualService`.
    pub(crate) singular: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) read: Read,
}

/// How much of a kind is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Every object, whole.
    Whole,
    /// Names, labels and the like; the server leaves the rest out.
    Metadata,
    /// Names and types, from the server's table: values never travel.
    Table,
    /// Only Istio's own, by name.
    Named,
    /// Only what is out of the ordinary.
    Warnings,
}

const fn core(plural: &'static str, singular: &'static str, read: Read) -> Kind {
    Kind {
        plural,
        group: "",
        versions: &["v1"],
        singular,
        namespaced: true,
        read,
    }
}

const fn in_group(
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    singular: &'static str,
) -> Kind {
    Kind {
        plural,
        group,
        versions,
        singular,
        namespaced: true,
        read: Read::Whole,
    }
}

const fn wide(kind: Kind) -> Kind {
    Kind {
        namespaced: false,
        ..kind
    }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORKING: &str = "networking.istio.io";
const SECURITY: &str = "security.istio.io";
const EXTENSIONS: &str = "extensions.istio.io";
const GATEWAY: &str = "gateway.networking.k8s.io";

const V1: &[&str] = &["v1"];
const ISTIO: &[&str] = &["v1", "v1beta1", "v1alpha3", "v1alpha1"];
const GATEWAY_API: &[&str] = &["v1", "v1beta1", "v1alpha3", "v1alpha2"];

/// Every kind that can be read, by plural.
pub(crate) static KINDS: [Kind; 45] = [
    in_group(
        SECURITY,
        ISTIO,
        "authorizationpolicies",
        "AuthorizationPolicy",
    ),
    in_group(
        GATEWAY,
        GATEWAY_API,
        "backendtlspolicies",
        "BackendTLSPolicy",
    ),
    core("configmaps", "ConfigMap", Read::Named),
    in_group("batch", V1, "cronjobs", "CronJob"),
    Kind {
        read: Read::Metadata,
        ..wide(in_group(
            "apiextensions.k8s.io",
            V1,
            "customresourcedefinitions",
            "CustomResourceDefinition",
        ))
    },
    in_group("apps", V1, "daemonsets", "DaemonSet"),
    in_group("apps", V1, "deployments", "Deployment"),
    in_group(NETWORKING, ISTIO, "destinationrules", "DestinationRule"),
    // "EndpointSlice … v1 is available since v1.21"; before it there was v1beta1.
    in_group(
        "discovery.k8s.io",
        &["v1", "v1beta1"],
        "endpointslices",
        "EndpointSlice",
    ),
    in_group(NETWORKING, ISTIO, "envoyfilters", "EnvoyFilter"),
    core("events", "Event", Read::Warnings),
    wide(in_group(
        GATEWAY,
        GATEWAY_API,
        "gatewayclasses",
        "GatewayClass",
    )),
    in_group(GATEWAY, GATEWAY_API, "gateways", "Gateway"),
    in_group(NETWORKING, ISTIO, "gateways", "Gateway"),
    in_group(GATEWAY, GATEWAY_API, "grpcroutes", "GRPCRoute"),
    in_group(GATEWAY, GATEWAY_API, "httproutes", "HTTPRoute"),
    in_group("networking.k8s.io", V1, "ingresses", "Ingress"),
    in_group("batch", V1, "jobs", "Job"),
    in_group(GATEWAY, GATEWAY_API, "listenersets", "ListenerSet"),
    wide(in_group(
        ADMISSION,
        V1,
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
    )),
    wide(core("namespaces", "Namespace", Read::Whole)),
    in_group("networking.k8s.io", V1, "networkpolicies", "NetworkPolicy"),
    wide(core("nodes", "Node", Read::Metadata)),
    in_group(SECURITY, ISTIO, "peerauthentications", "PeerAuthentication"),
    core("pods", "Pod", Read::Whole),
    in_group(NETWORKING, ISTIO, "proxyconfigs", "ProxyConfig"),
    in_group(GATEWAY, GATEWAY_API, "referencegrants", "ReferenceGrant"),
    in_group("apps", V1, "replicasets", "ReplicaSet"),
    in_group(
        SECURITY,
        ISTIO,
        "requestauthentications",
        "RequestAuthentication",
    ),
    core("secrets", "Secret", Read::Table),
    core("serviceaccounts", "ServiceAccount", Read::Metadata),
    in_group(NETWORKING, ISTIO, "serviceentries", "ServiceEntry"),
    core("services", "Service", Read::Whole),
    in_group(NETWORKING, ISTIO, "sidecars", "Sidecar"),
    in_group("apps", V1, "statefulsets", "StatefulSet"),
    in_group(GATEWAY, GATEWAY_API, "tcproutes", "TCPRoute"),
    in_group("telemetry.istio.io", ISTIO, "telemetries", "Telemetry"),
    in_group(GATEWAY, GATEWAY_API, "tlsroutes", "TLSRoute"),
    in_group(EXTENSIONS, ISTIO, "trafficextensions", "TrafficExtension"),
    in_group(GATEWAY, GATEWAY_API, "udproutes", "UDPRoute"),
    wide(in_group(
        ADMISSION,
        V1,
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    )),
    in_group(NETWORKING, ISTIO, "virtualservices", "VirtualService"),
    in_group(EXTENSIONS, ISTIO, "wasmplugins", "WasmPlugin"),
    in_group(NETWORKING, ISTIO, "workloadentries", "WorkloadEntry"),
    in_group(NETWORKING, ISTIO, "workloadgroups", "WorkloadGroup"),
];

impl Kind {
    /// As a bundle and `kubectl` name it: `gateways.networking.istio.io`.
    pub(crate) fn name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The path of its objects at the API server.
    pub(crate) fn path(&self, version: &str, namespace: Option<&str>) -> String {
        let inside = namespace
            .filter(|_| self.namespaced)
            .map(|ns| format!("/namespaces/{ns}"))
            .unwrap_or_default();
        format!("{}{inside}/{}", self.api(version), self.plural)
    }

    /// The path of its group and version.
    pub(crate) fn api(&self, version: &str) -> String {
        if self.group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{}/{version}", self.group)
        }
    }

    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }
}

/// The kind that a bundle calls so.
pub(crate) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name() == name)
}

#[cfg(test)]
mod tests {
    use meshladder_capture::snapshot::Need;
    use meshladder_judge::rules;

    use super::*;

    #[test]
    fn every_kind_that_a_rule_looks_at_can_be_read() {
        for rule in rules::all() {
            for path in rule.needs.iter().chain(rule.uses) {
                if let Need::Objects(name) = Need::of_path(path) {
                    assert!(named(&name).is_some(), "{} of {}", path, rule.code);
                }
            }
        }
    }

    #[test]
    fn kinds_are_in_order_and_named_as_kubectl_does() {
        let plurals: Vec<_> = KINDS.iter().map(|kind| (kind.plural, kind.group)).collect();
        assert!(plurals.is_sorted());
        let gateway = named("gateways.networking.istio.io").expect("a kind");
        assert_eq!(
            gateway.path("v1", Some("shop")),
            "/apis/networking.istio.io/v1/namespaces/shop/gateways"
        );
        assert_eq!(
            named("namespaces")
                .expect("a kind")
                .path("v1", Some("shop")),
            "/api/v1/namespaces"
        );
    }
}
