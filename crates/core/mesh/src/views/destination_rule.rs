//! `DestinationRule`: subsets, and how connections to its host are made.

use meshladder_text::tree::Node;

use super::{Leaf, filled, number, text, texts};
use crate::Object;

object_view! {
    /// An Istio `DestinationRule`.
    DestinationRule
}

part_view! {
    /// A named part of a host's endpoints.
    Subset
}

part_view! {
    /// How connections are made: of the rule, of a subset, or of a port.
    TrafficPolicy
}

part_view! {
    /// `tls` of a policy.
    ClientTls
}

impl<'m> DestinationRule<'m> {
    /// The host it is for, as written; empty without one.
    pub fn host(self) -> &'m str {
        self.host_leaf().map_or("", |host| host.value)
    }

    /// The host it is for, and where it says so.
    pub fn host_leaf(self) -> Option<Leaf<'m>> {
        text(self.object.spec()?, "host")
    }

    /// What holds for the host as a whole.
    pub fn traffic_policy(self) -> Option<TrafficPolicy<'m>> {
        let policy = self.object.spec_at(["trafficPolicy"]);
        policy.map(TrafficPolicy::of)
    }

    /// Its subsets.
    pub fn subsets(self) -> impl Iterator<Item = Subset<'m>> {
        self.object.spec_list("subsets").iter().map(Subset::of)
    }

    /// The subset of that name.
    pub fn subset(self, name: &str) -> Option<Subset<'m>> {
        self.subsets().find(|subset| subset.name() == name)
    }

    /// The policies of the host as a whole and of its subsets.
    pub fn policies(self) -> impl Iterator<Item = TrafficPolicy<'m>> {
        let of_subsets = self.subsets().filter_map(Subset::traffic_policy);
        self.traffic_policy().into_iter().chain(of_subsets)
    }

    /// The labels of the clients that it is for; none when it is for all.
    pub fn workload_selector(self) -> Option<&'m Node> {
        self.object.spec_at(["workloadSelector", "matchLabels"])
    }

    /// The namespaces it is exported to, as written.
    pub fn export_to(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("exportTo"))
    }
}

impl<'m> Subset<'m> {
    /// Its name.
    pub fn name(self) -> &'m str {
        self.node.str_at("name").unwrap_or_default()
    }

    /// The labels of its endpoints; all of the host's have them when there are none.
    pub fn labels(self) -> Option<&'m Node> {
        self.node.get("labels")
    }

    /// Whether an object, a pod or a WorkloadEntry, has its labels.
    pub fn selects(self, object: &Object) -> bool {
        self.labels()
            .is_none_or(|labels| crate::selector::has_labels(labels, object.labels()))
    }

    /// What holds for it alone.
    pub fn traffic_policy(self) -> Option<TrafficPolicy<'m>> {
        self.node.get("trafficPolicy").map(TrafficPolicy::of)
    }
}

impl<'m> TrafficPolicy<'m> {
    /// How connections are encrypted.
    pub fn tls(self) -> Option<ClientTls<'m>> {
        self.node.get("tls").map(ClientTls::of)
    }

    /// What holds for single ports instead.
    pub fn port_level(self) -> impl Iterator<Item = TrafficPolicy<'m>> {
        let ports = self.node.items_at("portLevelSettings").iter();
        ports.map(Self::of)
    }

    /// Of what holds for a single port: which.
    pub fn port(self) -> Option<Leaf<'m, u16>> {
        number(self.node.get("port")?, "number")
    }

    /// `connectionPool`
    pub fn connection_pool(self) -> Option<&'m Node> {
        self.node.get("connectionPool")
    }

    /// `loadBalancer`
    pub fn load_balancer(self) -> Option<&'m Node> {
        self.node.get("loadBalancer")
    }

    /// `outlierDetection`
    pub fn outlier_detection(self) -> Option<&'m Node> {
        self.node.get("outlierDetection")
    }
}

impl<'m> ClientTls<'m> {
    /// `DISABLE`, `SIMPLE`, `MUTUAL`, `ISTIO_MUTUAL`; it is `DISABLE` without one.
    pub fn mode(self) -> &'m str {
        self.mode_leaf().map_or("DISABLE", |mode| mode.value)
    }

    /// The mode, and where it says so.
    pub fn mode_leaf(self) -> Option<Leaf<'m>> {
        text(self.node, "mode")
    }

    /// The server name that the client asks for.
    pub fn sni(self) -> Option<Leaf<'m>> {
        filled(self.node, "sni")
    }

    /// The Secret with the client's certificate.
    pub fn credential_name(self) -> Option<Leaf<'m>> {
        filled(self.node, "credentialName")
    }

    /// What the server's certificate must be for.
    pub fn subject_alt_names(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("subjectAltNames"))
    }
}
