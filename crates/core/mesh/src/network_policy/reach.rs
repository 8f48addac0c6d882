//! The connections a proxy lives on: to istiod, to DNS, and to the pods behind a Service.

use std::net::IpAddr;

use super::port::container_port;
use super::{End, Passage};
use crate::{Mesh, Object, ServiceFacts};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// istiod's port for proxies, over TLS.
pub const XDS: u16 = 15012;
/// istiod's port for proxies, in plaintext.
pub const XDS_PLAINTEXT: u16 = 15010;
/// istiod's port for the API server: injection and validation.
pub const WEBHOOK: u16 = 15017;

/// Whether one destination can be reached.
#[derive(Clone, Debug)]
pub struct Reach<'m> {
    /// The destination.
    pub to: End<'m>,
    /// Its own port.
    pub port: u16,
    /// `TCP` or `UDP`
    pub protocol: String,
    /// The answer.
    pub passage: Passage<'m>,
}

impl Mesh {
    /// The pods of istiod; those of one revision if one is given.
    pub fn istiods(&self, revision: Option<&str>) -> Vec<&Object> {
        let mut istiods = Vec::new();
        for pod in self.live_pods() {
            let is_of_revision = revision.is_none() || pod.label("istio.io/rev") == revision;
            if pod.label("app") == Some("istiod") && is_of_revision {
                istiods.push(pod);
            }
        }
        istiods
    }

    /// Whether a pod reaches each istiod of the revision that injected it; any revision's when it
    /// does not tell. Without such a pod here, the answer is for an istiod of which nothing is
    /// known.
    pub fn reach_istiod<'m>(&'m self, pod: &'m Object, port: u16) -> Vec<Reach<'m>> {
        let istiods = self
            .istiods(pod.annotation("istio.io/rev"))
            .into_iter()
            .map(End::Pod)
            .collect();
        self.reach_each(End::Pod(pod), istiods, "istiod", port, "TCP")
    }

    /// Whether the API server reaches each istiod's webhooks. Where its connections come from, no
    /// object tells.
    pub fn reach_webhooks(&self, revision: Option<&str>) -> Vec<Reach<'_>> {
        let istiods = self.istiods(revision).into_iter().map(End::Pod).collect();
        self.reach_each(
            End::Unknown("the API server"),
            istiods,
            "istiod",
            WEBHOOK,
            "TCP",
        )
    }

    /// Whether a pod reaches the cluster's DNS, over UDP and over TCP.
    pub fn reach_dns<'m>(&'m self, pod: &'m Object) -> Vec<Reach<'m>> {
        let mut services = self.services.iter();
        let service = services.find(|s| s.namespace == "kube-system" && s.name == "kube-dns");
        let mut reaches = Vec::new();
        for protocol in ["UDP", "TCP"] {
            let behind = match service {
                Some(service) => self.reach_service(End::Pod(pod), service, 53, protocol),
                None => Vec::new(),
            };
            if behind.is_empty() {
                // The Service may have another name; the pods keep their label.
                let pods = self.live_pods().filter(|pod| is_dns(pod));
                let pods = pods.map(End::Pod).collect();
                let name = "the cluster's DNS";
                reaches.extend(self.reach_each(End::Pod(pod), pods, name, 53, protocol));
            } else {
                reaches.extend(behind);
            }
        }
        reaches
    }

    /// Whether each pod behind a Service can be reached, on the target port of the Service's
    /// `port`.
    pub fn reach_service<'m>(
        &'m self,
        from: End<'m>,
        service: &'m ServiceFacts,
        port: u16,
        protocol: &str,
    ) -> Vec<Reach<'m>> {
        let Some((_, target)) = service.ports.iter().find(|(number, _)| *number == port) else {
            return Vec::new();
        };
        let number = target.parse().ok();
        let mut reaches = Vec::new();
        for facts in self.pods_of(service) {
            let Some(pod) = self.objects.get(Kind::Pod, &facts.namespace, &facts.name) else {
                continue;
            };
            // A target port may be a name, which each pod gives a number of its own.
            let port = number.or_else(|| container_port(pod, target, protocol));
            if let Some(port) = port {
                reaches.push(self.reach(from, End::Pod(pod), port, protocol));
            }
        }
        // A Service without a selector has its endpoints written by hand, or by another controller.
        if let Some(port) = number
            && service.selector.is_empty()
        {
            for address in self.written_addresses(service) {
                reaches.push(self.reach(from, End::Address(address), port, protocol));
            }
        }
        reaches
    }

    fn written_addresses(&self, service: &ServiceFacts) -> Vec<IpAddr> {
        let mut addresses = Vec::new();
        for slice in self.slices_of(service) {
            for endpoint in slice.node.items_at("endpoints") {
                let texts = endpoint.items_at("addresses").iter().filter_map(Node::str);
                addresses.extend(texts.filter_map(|text| text.parse::<IpAddr>().ok()));
            }
        }
        addresses
    }

    /// The EndpointSlices of a Service.
    pub fn slices_of<'m>(&'m self, service: &'m ServiceFacts) -> impl Iterator<Item = &'m Object> {
        let slices = self
            .objects
            .in_namespace(Kind::EndpointSlice, &service.namespace);
        slices.filter(|slice| slice.label("kubernetes.io/service-name") == Some(&service.name))
    }

    /// The Service that has this address.
    pub(super) fn service_at(&self, end: End<'_>) -> Option<&ServiceFacts> {
        let End::Address(address) = end else {
            return None;
        };
        self.services
            .iter()
            .find(|service| service.cluster_ips.contains(&address))
    }

    fn live_pods(&self) -> impl Iterator<Item = &Object> {
        let pods = self.objects.of_kind(Kind::Pod).iter();
        pods.filter(|pod| !has_ended(pod))
    }

    fn reach_each<'m>(
        &'m self,
        from: End<'m>,
        mut to: Vec<End<'m>>,
        otherwise: &'m str,
        port: u16,
        protocol: &str,
    ) -> Vec<Reach<'m>> {
        if to.is_empty() {
            to.push(End::Unknown(otherwise));
        }
        to.into_iter()
            .map(|to| self.reach(from, to, port, protocol))
            .collect()
    }

    fn reach<'m>(&'m self, from: End<'m>, to: End<'m>, port: u16, protocol: &str) -> Reach<'m> {
        Reach {
            to,
            port,
            protocol: protocol.to_owned(),
            passage: self.between(from, to, port, protocol),
        }
    }
}

/// Whether a pod is one of the cluster's DNS servers, whatever they are.
fn is_dns(pod: &Object) -> bool {
    pod.id.namespace == "kube-system" && pod.label("k8s-app") == Some("kube-dns")
}

/// Whether all containers of a pod have ended for good.
fn has_ended(pod: &Object) -> bool {
    let phase = pod.node.at(["status", "phase"]).and_then(Node::str);
    matches!(phase, Some("Succeeded" | "Failed"))
}
