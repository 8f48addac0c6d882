//! `Service` and its ports.

use meshladder_text::tree::Node;

use super::{Leaf, Pod, filled, number, text};
use crate::Object;
use crate::services::Protocol;

object_view! {
    /// A Kubernetes Service.
    Service
}

/// One port of a Service.
#[derive(Clone, Copy, Debug)]
pub struct ServicePort<'m> {
    /// The port, as written.
    pub node: &'m Node,
    /// Its number.
    pub number: u16,
    /// Its name; empty without one.
    pub name: &'m str,
    /// `appProtocol`
    pub app_protocol: Option<&'m str>,
    /// `targetPort`: a number or a name; none when it is the port's own number.
    pub target_port: Option<&'m Node>,
    /// What Istio takes the traffic for.
    pub protocol: Protocol,
}

impl<'m> Service<'m> {
    /// Its ports.
    pub fn ports(self) -> impl Iterator<Item = ServicePort<'m>> {
        let ports = self.object.spec_list("ports").iter();
        ports.filter_map(ServicePort::of)
    }

    /// The port of that number.
    pub fn port(self, number: u16) -> Option<ServicePort<'m>> {
        self.ports().find(|port| port.number == number)
    }

    /// The labels of the pods it selects; none for a Service that selects none.
    pub fn selector(self) -> Option<&'m Node> {
        let selector = self.object.spec_at(["selector"]);
        selector.filter(|selector| !selector.members().is_empty())
    }

    /// `spec.type`; a Service without one is a `ClusterIP`.
    pub fn kind(self) -> &'m str {
        let kind = self.object.spec().and_then(|spec| filled(spec, "type"));
        kind.map_or("ClusterIP", |kind| kind.value)
    }

    /// `spec.clusterIP`
    pub fn cluster_ip(self) -> Option<Leaf<'m>> {
        text(self.object.spec()?, "clusterIP")
    }

    /// Whether its name stands for its pods' addresses rather than for one of its own.
    pub fn is_headless(self) -> bool {
        self.cluster_ip().is_some_and(|ip| *ip == "None")
    }

    /// `spec.externalName`, when it is of that type.
    pub fn external_name(self) -> Option<Leaf<'m>> {
        if self.kind() == "ExternalName" {
            text(self.object.spec()?, "externalName")
        } else {
            None
        }
    }
}

impl<'m> ServicePort<'m> {
    fn of(node: &'m Node) -> Option<Self> {
        let number: u16 = number(node, "port")?.value;
        let name = node.str_at("name").unwrap_or_default();
        let app_protocol = node.str_at("appProtocol");
        let transport = node.str_at("protocol").unwrap_or("TCP");
        let protocol = Protocol::of_port(number, name, app_protocol, transport);
        Some(Self {
            node,
            number,
            name,
            app_protocol,
            target_port: node.get("targetPort"),
            protocol,
        })
    }

    /// The number of the container's port that it leads to in a pod; none when its name is in no
    /// container.
    pub fn target_in(&self, pod: &Object) -> Option<u16> {
        let Some(target) = self.target_port else {
            return Some(self.number);
        };
        if let Some(number) = Leaf::number(target) {
            return Some(number.value);
        }
        let mut ports = Pod::of(pod)
            .containers()
            .flat_map(|container| container.node.items_at("ports"));
        let port = ports.find(|port| port.str_at("name") == target.str())?;
        Some(number(port, "containerPort")?.value)
    }
}
