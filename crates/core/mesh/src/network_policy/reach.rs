//! The connections a proxy lives on: to istiod, to DNS, and to the pods behind a Service.

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
        let of_revision = |pod: &&Object| {
            revision.is_none_or(|revision| pod.label("istio.io/rev") == Some(revision))
        };
        self.live_pods()
            .filter(|pod| pod.label("app") == Some("istiod"))
            .filter(of_revision)
            .collect()
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
        let service = self
            .services
            .iter()
            .find(|s| s.namespace == "kube-system" && s.name == "kube-dns");
        let is_dns = |pod: &&Object| {
            pod.id.namespace == "kube-system" && pod.label("k8s-app") == Some("kube-dns")
        };
        let each = ["UDP", "TCP"].into_iter().flat_map(|protocol| {
            let behind =
                service.map(|service| self.reach_service(End::Pod(pod), service, 53, protocol));
            behind
                .filter(|behind| !behind.is_empty())
                .unwrap_or_else(|| {
                    let pods = self.live_pods().filter(is_dns).map(End::Pod).collect();
                    self.reach_each(End::Pod(pod), pods, "the cluster's DNS", 53, protocol)
                })
        });
        each.collect()
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
        let pods = self
            .pods_of(service)
            .filter_map(|pod| self.objects.get(Kind::Pod, &pod.namespace, &pod.name));
        let pods = pods.filter_map(|pod| {
            Some((
                End::Pod(pod),
                number.or_else(|| container_port(pod, target, protocol))?,
            ))
        });
        // A Service without a selector has its endpoints written by hand, or by another controller.
        let slices = self
            .slices_of(service)
            .filter(|_| service.selector.is_empty());
        let written =
            slices.flat_map(|slice| slice.node.get("endpoints").map_or(&[][..], Node::items));
        let written =
            written.flat_map(|endpoint| endpoint.get("addresses").map_or(&[][..], Node::items));
        let written = written
            .filter_map(|address| Some((End::Address(address.str()?.parse().ok()?), number?)));
        let each = pods
            .chain(written)
            .map(|(to, port)| self.reach(from, to, port, protocol));
        each.collect()
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
        let phase = |pod: &Object| {
            pod.node
                .at(["status", "phase"])
                .and_then(Node::str)
                .unwrap_or_default()
                .to_owned()
        };
        self.objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(move |pod| !["Succeeded", "Failed"].contains(&&*phase(pod)))
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
