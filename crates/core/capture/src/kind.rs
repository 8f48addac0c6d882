//! The kinds of Kubernetes object that anything here reads: one table for what they are called, how
//! they are read from a cluster and where they stand in a bundle.

use std::fmt;

/// Whether the objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

/// How much of a kind is read from a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
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
    /// Nothing: it is only known where a file or a bundle holds it.
    Nothing,
}

struct Row {
    singular: &'static str,
    /// The plural and the group, as `kubectl` joins them.
    name: &'static str,
    path: &'static str,
    /// The one to prefer first.
    versions: &'static [&'static str],
    short: &'static [&'static str],
    scope: Scope,
    depth: Depth,
}

macro_rules! kinds {
    ($($kind:ident: $singular:literal, $name:literal, $versions:ident, $short:expr, $scope:ident, $depth:ident;)*) => {
        /// A kind of Kubernetes object, in the order of their names in a bundle.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(
                #[doc = concat!("`", $name, "`")]
                $kind,
            )*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => const {
                        &Row {
                            singular: $singular,
                            name: $name,
                            path: concat!("k8s/", $name, ".json"),
                            versions: $versions,
                            short: &$short,
                            scope: Scope::$scope,
                            depth: Depth::$depth,
                        }
                    },)*
                }
            }
        }
    };
}

const V1: &[&str] = &["v1"];
// "EndpointSlice … v1 is available since v1.21"; before it there was v1beta1.
const SLICES: &[&str] = &["v1", "v1beta1"];
const ISTIO: &[&str] = &["v1", "v1beta1", "v1alpha3", "v1alpha1"];
const GATEWAY_API: &[&str] = &["v1", "v1beta1", "v1alpha3", "v1alpha2"];

kinds! {
    AuthorizationPolicy: "AuthorizationPolicy", "authorizationpolicies.security.istio.io", ISTIO, ["ap"], Namespaced, Whole;
    BackendTlsPolicy: "BackendTLSPolicy", "backendtlspolicies.gateway.networking.k8s.io", GATEWAY_API, ["btlspolicy"], Namespaced, Whole;
    ConfigMap: "ConfigMap", "configmaps", V1, ["cm"], Namespaced, Named;
    CronJob: "CronJob", "cronjobs.batch", V1, ["cj"], Namespaced, Whole;
    CustomResourceDefinition: "CustomResourceDefinition", "customresourcedefinitions.apiextensions.k8s.io", V1, ["crd", "crds"], Cluster, Metadata;
    DaemonSet: "DaemonSet", "daemonsets.apps", V1, ["ds"], Namespaced, Whole;
    Deployment: "Deployment", "deployments.apps", V1, ["deploy"], Namespaced, Whole;
    DestinationRule: "DestinationRule", "destinationrules.networking.istio.io", ISTIO, ["dr"], Namespaced, Whole;
    EndpointSlice: "EndpointSlice", "endpointslices.discovery.k8s.io", SLICES, [], Namespaced, Whole;
    EnvoyFilter: "EnvoyFilter", "envoyfilters.networking.istio.io", ISTIO, [], Namespaced, Whole;
    Event: "Event", "events", V1, ["ev"], Namespaced, Warnings;
    GatewayClass: "GatewayClass", "gatewayclasses.gateway.networking.k8s.io", GATEWAY_API, ["gc"], Cluster, Whole;
    K8sGateway: "Gateway", "gateways.gateway.networking.k8s.io", GATEWAY_API, ["gtw"], Namespaced, Whole;
    Gateway: "Gateway", "gateways.networking.istio.io", ISTIO, ["gw"], Namespaced, Whole;
    GrpcRoute: "GRPCRoute", "grpcroutes.gateway.networking.k8s.io", GATEWAY_API, [], Namespaced, Whole;
    HttpRoute: "HTTPRoute", "httproutes.gateway.networking.k8s.io", GATEWAY_API, [], Namespaced, Whole;
    Ingress: "Ingress", "ingresses.networking.k8s.io", V1, ["ing"], Namespaced, Whole;
    Job: "Job", "jobs.batch", V1, [], Namespaced, Whole;
    ListenerSet: "ListenerSet", "listenersets.gateway.networking.k8s.io", GATEWAY_API, ["lset"], Namespaced, Whole;
    MutatingWebhook: "MutatingWebhookConfiguration", "mutatingwebhookconfigurations.admissionregistration.k8s.io", V1, [], Cluster, Whole;
    Namespace: "Namespace", "namespaces", V1, ["ns"], Cluster, Whole;
    NetworkPolicy: "NetworkPolicy", "networkpolicies.networking.k8s.io", V1, ["netpol"], Namespaced, Whole;
    Node: "Node", "nodes", V1, ["no"], Cluster, Metadata;
    PeerAuthentication: "PeerAuthentication", "peerauthentications.security.istio.io", ISTIO, ["pa"], Namespaced, Whole;
    Pod: "Pod", "pods", V1, ["po"], Namespaced, Whole;
    ProxyConfig: "ProxyConfig", "proxyconfigs.networking.istio.io", ISTIO, [], Namespaced, Whole;
    ReferenceGrant: "ReferenceGrant", "referencegrants.gateway.networking.k8s.io", GATEWAY_API, ["refgrant"], Namespaced, Whole;
    ReplicaSet: "ReplicaSet", "replicasets.apps", V1, ["rs"], Namespaced, Whole;
    ReplicationController: "ReplicationController", "replicationcontrollers", V1, ["rc"], Namespaced, Nothing;
    RequestAuthentication: "RequestAuthentication", "requestauthentications.security.istio.io", ISTIO, ["ra"], Namespaced, Whole;
    Secret: "Secret", "secrets", V1, [], Namespaced, Table;
    ServiceAccount: "ServiceAccount", "serviceaccounts", V1, ["sa"], Namespaced, Metadata;
    ServiceEntry: "ServiceEntry", "serviceentries.networking.istio.io", ISTIO, ["se"], Namespaced, Whole;
    Service: "Service", "services", V1, ["svc"], Namespaced, Whole;
    Sidecar: "Sidecar", "sidecars.networking.istio.io", ISTIO, [], Namespaced, Whole;
    StatefulSet: "StatefulSet", "statefulsets.apps", V1, ["sts"], Namespaced, Whole;
    TcpRoute: "TCPRoute", "tcproutes.gateway.networking.k8s.io", GATEWAY_API, [], Namespaced, Whole;
    Telemetry: "Telemetry", "telemetries.telemetry.istio.io", ISTIO, ["telemetry"], Namespaced, Whole;
    TlsRoute: "TLSRoute", "tlsroutes.gateway.networking.k8s.io", GATEWAY_API, [], Namespaced, Whole;
    TrafficExtension: "TrafficExtension", "trafficextensions.extensions.istio.io", ISTIO, [], Namespaced, Whole;
    UdpRoute: "UDPRoute", "udproutes.gateway.networking.k8s.io", GATEWAY_API, [], Namespaced, Whole;
    ValidatingWebhook: "ValidatingWebhookConfiguration", "validatingwebhookconfigurations.admissionregistration.k8s.io", V1, [], Cluster, Whole;
    VirtualService: "VirtualService", "virtualservices.networking.istio.io", ISTIO, ["vs"], Namespaced, Whole;
    WasmPlugin: "WasmPlugin", "wasmplugins.extensions.istio.io", ISTIO, [], Namespaced, Whole;
    WorkloadEntry: "WorkloadEntry", "workloadentries.networking.istio.io", ISTIO, ["we"], Namespaced, Whole;
    WorkloadGroup: "WorkloadGroup", "workloadgroups.networking.istio.io", ISTIO, ["wg"], Namespaced, Whole;
}

impl Kind {
    /// The name of one: `VirtualService`. Istio and the Gateway API both have a `Gateway`.
    pub fn singular(self) -> &'static str {
        self.row().singular
    }

    /// `virtualservices`
    pub fn plural(self) -> &'static str {
        let name = self.name();
        name.split_once('.').map_or(name, |(plural, _)| plural)
    }

    /// `networking.istio.io`; empty for the core group.
    pub fn group(self) -> &'static str {
        self.name().split_once('.').map_or("", |(_, group)| group)
    }

    /// As a bundle and `kubectl` name it: `gateways.networking.istio.io`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Where a bundle keeps its objects: `k8s/pods.json`.
    pub fn path(self) -> &'static str {
        self.row().path
    }

    /// The versions that may be served, the one to prefer first.
    pub fn versions(self) -> &'static [&'static str] {
        self.row().versions
    }

    /// What `kubectl` abbreviates it to.
    pub fn short_names(self) -> &'static [&'static str] {
        self.row().short
    }

    /// Whether its objects are in namespaces.
    pub fn is_namespaced(self) -> bool {
        self.row().scope == Scope::Namespaced
    }

    /// How much of it is read from a cluster.
    pub fn depth(self) -> Depth {
        self.row().depth
    }

    /// Whether it makes pods of a template.
    pub fn is_workload(self) -> bool {
        matches!(
            self,
            Self::CronJob
                | Self::DaemonSet
                | Self::Deployment
                | Self::Job
                | Self::ReplicaSet
                | Self::ReplicationController
                | Self::StatefulSet
        )
    }

    /// Whether `analyze` knows what its objects may say: those of Istio and of the Gateway API.
    pub fn has_schema(self) -> bool {
        let group = self.group();
        group.ends_with(".istio.io") || group == "gateway.networking.k8s.io"
    }

    /// The kind of that name in that group. An object that says no group at all is of the one kind
    /// that is called so.
    pub fn of(singular: &str, group: &str) -> Option<Self> {
        let mut alike = Self::called(singular);
        if !group.is_empty() {
            return alike.find(|kind| kind.group() == group);
        }
        let only = alike.next()?;
        alike.next().is_none().then_some(only)
    }

    /// The kinds of that name, whatever their group.
    pub fn called(singular: &str) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |kind| kind.singular() == singular)
    }

    /// The kind that a bundle calls so: `gateways.networking.istio.io`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The kind that a word means, in any case: singular, plural or abbreviated, with or without
    /// the group (`vs`, `pods`, `deployment.apps`). Where two are called so it is Istio's.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let (word, group) = word.split_once('.').unwrap_or((&word, ""));
        // `kubectl` takes a version before the group: `deployments.v1.apps`.
        let is_version = |text: &str| text.starts_with('v') && !text.contains('.');
        let group = match group.split_once('.') {
            Some((version, group)) if is_version(version) => group,
            _ => group,
        };
        let means = |kind: &Self| {
            let is_called = kind.singular().eq_ignore_ascii_case(word)
                || kind.plural() == word
                || kind.short_names().contains(&word);
            is_called && (group.is_empty() || group == kind.group())
        };
        Self::ALL.iter().copied().rev().find(means)
    }
}

/// `gateways.networking.istio.io`
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_order_and_named_as_kubectl_does() {
        let names: Vec<_> = Kind::ALL
            .iter()
            .map(|kind| (kind.plural(), kind.group()))
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(
            Kind::Gateway.path(),
            "k8s/gateways.networking.istio.io.json"
        );
        assert_eq!(
            Kind::named("gateways.gateway.networking.k8s.io"),
            Some(Kind::K8sGateway)
        );
        assert_eq!((Kind::Pod.plural(), Kind::Pod.group()), ("pods", ""));
    }

    #[test]
    fn people_write_a_kind_in_many_ways() {
        for (word, kind) in [
            ("po", Some(Kind::Pod)),
            ("Pods", Some(Kind::Pod)),
            ("deployment.apps", Some(Kind::Deployment)),
            ("deployments.v1.apps", Some(Kind::Deployment)),
            ("gateway", Some(Kind::Gateway)),
            ("gtw", Some(Kind::K8sGateway)),
            ("gateways.gateway.networking.k8s.io", Some(Kind::K8sGateway)),
            ("ingresses", Some(Kind::Ingress)),
            ("pods.apps", None),
            ("rollout", None),
        ] {
            assert_eq!(Kind::parse(word), kind, "{word}");
        }
    }

    #[test]
    fn a_group_tells_kinds_of_one_name_apart() {
        for (name, group, kind) in [
            ("Gateway", "networking.istio.io", Some(Kind::Gateway)),
            (
                "Gateway",
                "gateway.networking.k8s.io",
                Some(Kind::K8sGateway),
            ),
            ("Gateway", "", None),
            ("VirtualService", "", Some(Kind::VirtualService)),
            ("Service", "serving.knative.dev", None),
        ] {
            assert_eq!(Kind::of(name, group), kind, "{name} of {group}");
        }
    }
}
