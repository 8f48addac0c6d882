//! `ServiceEntry`: hosts outside the cluster, or beside its Services.

use std::net::IpAddr;

use meshladder_text::tree::Node;

use super::{Leaf, filled, number, text, texts};
use crate::services::Protocol;

object_view! {
    /// An Istio `ServiceEntry`.
    ServiceEntry
}

part_view! {
    /// Where requests go: an element of `endpoints`, or the `spec` of a `WorkloadEntry`.
    WorkloadEndpoint
}

/// One port of a ServiceEntry.
#[derive(Clone, Copy, Debug)]
pub struct EntryPort<'m> {
    /// The port, as written.
    pub node: &'m Node,
    /// Its number.
    pub number: u16,
    /// Its name; empty without one.
    pub name: &'m str,
    /// `protocol`, as written; empty without one.
    pub protocol_name: &'m str,
    /// What Istio takes the traffic for.
    pub protocol: Protocol,
    /// The endpoints' port; the same number unless it is said.
    pub target_port: Option<u16>,
}

impl<'m> ServiceEntry<'m> {
    /// Its hosts; a ServiceEntry's host is taken as it stands.
    pub fn hosts(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("hosts"))
    }

    /// Its addresses, as written.
    pub fn addresses(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("addresses"))
    }

    /// Its addresses that are one address each, else those that istiod allocated.
    pub fn ips(self) -> Vec<IpAddr> {
        let own: Vec<IpAddr> = self.addresses().filter_map(|ip| ip.parse().ok()).collect();
        if !own.is_empty() {
            return own;
        }
        let allocated = self.object.node.at(["status", "addresses"]);
        let allocated = allocated.map_or(&[][..], Node::items).iter();
        allocated
            .filter_map(|address| address.str_at("value")?.parse().ok())
            .collect()
    }

    /// Its ports.
    pub fn ports(self) -> impl Iterator<Item = EntryPort<'m>> {
        self.object.spec_list("ports").iter().filter_map(entry_port)
    }

    /// How its endpoints are found; `NONE` unless it says otherwise.
    pub fn resolution(self) -> &'m str {
        let resolution = self.object.spec().and_then(|spec| text(spec, "resolution"));
        resolution.map_or("NONE", |resolution| resolution.value)
    }

    /// `MESH_EXTERNAL` unless it says otherwise.
    pub fn location(self) -> &'m str {
        let location = self.object.spec().and_then(|spec| text(spec, "location"));
        location.map_or("MESH_EXTERNAL", |location| location.value)
    }

    /// Its endpoints that are written in it.
    pub fn endpoints(self) -> impl Iterator<Item = WorkloadEndpoint<'m>> {
        let endpoints = self.object.spec_list("endpoints").iter();
        endpoints.map(WorkloadEndpoint::of)
    }

    /// The labels of the pods and WorkloadEntries that are its endpoints.
    pub fn workload_selector(self) -> Option<&'m Node> {
        self.object.spec_at(["workloadSelector", "labels"])
    }

    /// What its endpoints' certificates are for.
    pub fn subject_alt_names(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("subjectAltNames"))
    }

    /// The namespaces it is exported to, as written.
    pub fn export_to(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("exportTo"))
    }
}

fn entry_port(node: &Node) -> Option<EntryPort<'_>> {
    let protocol_name = node.str_at("protocol").unwrap_or_default();
    Some(EntryPort {
        node,
        number: number(node, "number")?.value,
        name: node.str_at("name").unwrap_or_default(),
        protocol_name,
        protocol: Protocol::of_name(protocol_name),
        target_port: number(node, "targetPort").map(|port| port.value),
    })
}

impl<'m> WorkloadEndpoint<'m> {
    /// Its address: an IP, a name, or `unix://…`.
    pub fn address(self) -> Option<Leaf<'m>> {
        filled(self.node, "address")
    }

    /// Its labels.
    pub fn labels(self) -> Option<&'m Node> {
        self.node.get("labels")
    }

    /// The number of the port of that name, where it is not the service's.
    pub fn port(self, name: &str) -> Option<Leaf<'m, u16>> {
        number(self.node.get("ports")?, name)
    }
}
