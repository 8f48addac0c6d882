//! Networks: which one a pod is in, and the gateways through which others reach it.
//!
//! "A network is a group of endpoints that can reach each other directly"; between two networks
//! requests go through a gateway, which tells by the SNI whom they are for.

use std::net::IpAddr;

use super::{Mesh, Object};
use crate::selector::has_labels;
use crate::views::service::ServicePort;
use crate::views::{Pod, PodTemplate, Service};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// The label that says a network: on the system namespace, on pods, on the Services of gateways.
pub const NETWORK: &str = "topology.istio.io/network";
/// The label that says on which port of a gateway's Service other networks come in.
pub const GATEWAY_PORT: &str = "networking.istio.io/gatewayPort";
/// That port unless the label says another.
pub const DEFAULT_GATEWAY_PORT: u16 = 15443;

/// A Service that says of itself that it is a network's gateway.
#[derive(Clone, Copy, Debug)]
pub struct NetworkGateway<'m> {
    /// The Service.
    pub service: Service<'m>,
    /// The network behind it.
    pub network: &'m str,
    /// The port on which other networks come in.
    pub port: u16,
}

impl<'m> NetworkGateway<'m> {
    /// Its port of that number; without one istiod does not take the Service for a gateway.
    pub fn service_port(self) -> Option<ServicePort<'m>> {
        self.service.port(self.port)
    }

    /// Whether it has an address that other networks can call.
    pub fn has_address(self) -> bool {
        external_addresses(self.service.object).next().is_some() || self.is_by_nodes()
    }

    /// Whether it is reached by the addresses of nodes: istiod then looks those up.
    fn is_by_nodes(self) -> bool {
        self.service
            .object
            .annotation("traffic.istio.io/nodeSelector")
            .is_some()
    }
}

impl Mesh {
    /// The network of the cluster: what the system namespace says.
    pub fn network(&self) -> Option<&str> {
        self.objects
            .get(Kind::Namespace, "", &self.config.root_namespace)?
            .label(NETWORK)
            .filter(|network| !network.is_empty())
    }

    /// The network of a pod: its own label counts more than the cluster's.
    pub fn network_of<'m>(&'m self, pod: &'m Object) -> Option<&'m str> {
        pod.label(NETWORK)
            .filter(|network| !network.is_empty())
            .or_else(|| self.network())
    }

    /// The Services that say of themselves that they are gateways of networks.
    pub fn network_gateways(&self) -> Vec<NetworkGateway<'_>> {
        let mut gateways = Vec::new();
        for service in Service::all(&self.objects) {
            let network = service.object.label(NETWORK);
            let Some(network) = network.filter(|network| !network.is_empty()) else {
                continue;
            };
            let port = service
                .object
                .label(GATEWAY_PORT)
                .and_then(|port| port.parse().ok());
            gateways.push(NetworkGateway {
                service,
                network,
                port: port.unwrap_or(DEFAULT_GATEWAY_PORT),
            });
        }
        gateways
    }

    /// The Service that has an address outside the cluster.
    pub fn service_at_external(&self, address: IpAddr) -> Option<Service<'_>> {
        Service::all(&self.objects).find(|service| {
            external_addresses(service.object).any(|own| own.parse() == Ok(address))
        })
    }

    /// Running pods that a Service selects, as objects.
    pub fn running_pods_of<'m>(&'m self, service: Service<'m>) -> Vec<&'m Object> {
        let mut pods = self.selected_pods(service.object);
        pods.retain(|pod| Pod::of(pod).is_running());
        pods
    }

    /// Whether another cluster has pods of a namespace with these labels, or a workload that is to
    /// make them.
    pub fn is_made_elsewhere(&self, namespace: &str, labels: &Node) -> bool {
        const MAKERS: [Kind; 3] = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet];
        self.clusters.values().any(|objects| {
            let is_made = |workload: &Object| {
                let template = PodTemplate::of(workload);
                template.is_some_and(|template| has_labels(labels, template.labels()))
            };
            let mut makers = MAKERS
                .into_iter()
                .flat_map(|kind| objects.in_namespace(kind, namespace));
            Pod::in_namespace(objects, namespace).any(|pod| has_labels(labels, pod.object.labels()))
                || makers.any(is_made)
        })
    }

    /// Whether an address is a pod's or a Service's of another cluster.
    pub fn is_elsewhere(&self, address: IpAddr) -> bool {
        self.clusters.values().any(|objects| {
            Pod::all(objects).any(|pod| pod.ips().contains(&address))
                || Service::all(objects).any(|service| {
                    external_addresses(service.object).any(|own| own.parse() == Ok(address))
                })
        })
    }
}

/// The addresses, or host names, by which a Service is called from outside the cluster.
pub fn external_addresses(service: &Object) -> impl Iterator<Item = &str> {
    let ingress = service
        .node
        .at(["status", "loadBalancer", "ingress"])
        .map_or(&[][..], Node::items);
    let assigned = ingress
        .iter()
        .filter_map(|entry| entry.str_at("ip").or_else(|| entry.str_at("hostname")));
    service.spec_strings("externalIPs").chain(assigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

    const OBJECTS: &str = "kind: Namespace
metadata: {name: istio-system, labels: {topology.istio.io/network: n1}}
---
kind: Pod
metadata: {name: own, namespace: shop, labels: {topology.istio.io/network: n2}}
---
kind: Pod
metadata: {name: plain, namespace: shop}
---
kind: Service
metadata: {name: gw, namespace: istio-system, labels: {topology.istio.io/network: n1}}
spec: {ports: [{port: 15443}]}
status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}
---
kind: Service
metadata: {name: pending, namespace: istio-system, labels: {topology.istio.io/network: n1, networking.istio.io/gatewayPort: '443'}}
spec: {ports: [{port: 15443}]}
";

    #[test]
    fn a_pods_own_network_counts_more_than_the_clusters() {
        let mesh = mesh_of(OBJECTS);
        let network = |name| {
            let pod = mesh.objects.get(Kind::Pod, "shop", name);
            mesh.network_of(pod.expect("it is there"))
        };
        assert_eq!((network("own"), network("plain")), (Some("n2"), Some("n1")));
    }

    #[test]
    fn a_gateway_needs_an_address_and_its_port() {
        let mesh = mesh_of(OBJECTS);
        let told: Vec<_> = mesh
            .network_gateways()
            .into_iter()
            .map(|gateway| {
                let has_port = gateway.service_port().is_some();
                (gateway.service.name(), gateway.has_address(), has_port)
            })
            .collect();
        assert_eq!(told, [("gw", true, true), ("pending", false, false)]);
        let address = "198.51.100.1".parse().expect("an address");
        let found = mesh.service_at_external(address).expect("it is there");
        assert_eq!(found.name(), "gw");
    }
}
