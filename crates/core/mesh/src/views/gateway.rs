//! Istio's `Gateway` and its servers.

use meshladder_text::tree::Node;

use super::{Leaf, Pod, texts};
use crate::host::{covers, overlaps, specificity};
use crate::selector::has_labels;
use crate::services::{Protocol, number};
use crate::{Domain, Object};

object_view! {
    /// Istio's `Gateway`; that of the Gateway API is a [`super::K8sGateway`].
    Gateway
}

/// One server of a Gateway.
#[derive(Clone, Copy, Debug)]
pub struct Server<'m> {
    /// The Gateway.
    pub gateway: &'m Object,
    /// The server, as written.
    pub node: &'m Node,
    /// Its port's number.
    pub port: u16,
    /// Its port's protocol.
    pub protocol: Protocol,
    /// `tls.mode`, such as `SIMPLE`.
    pub tls_mode: Option<&'m str>,
    /// `tls.credentialName`
    pub credential_name: Option<&'m str>,
}

impl<'m> Gateway<'m> {
    /// The labels of the pods it configures; none when it configures every gateway's proxy.
    pub fn selector(self) -> Option<&'m Node> {
        let selector = self.object.spec_at(["selector"]);
        selector.filter(|selector| !selector.members().is_empty())
    }

    /// Whether it configures a pod.
    pub fn configures(self, pod: &Object) -> bool {
        match self.selector() {
            Some(selector) => has_labels(selector, pod.labels()),
            None => Pod::of(pod).is_router(),
        }
    }

    /// Its servers, but for those without a port.
    pub fn servers(self) -> impl Iterator<Item = Server<'m>> {
        let servers = self.object.spec_list("servers").iter();
        servers.filter_map(move |node| Server::of(self.object, node))
    }
}

impl<'m> Server<'m> {
    fn of(gateway: &'m Object, node: &'m Node) -> Option<Self> {
        let port = node.get("port")?;
        let tls = |key: &str| node.at(["tls", key]).and_then(Node::str);
        Some(Self {
            gateway,
            node,
            port: number(port.get("number")?)?,
            protocol: Protocol::of_name(port.str_at("protocol").unwrap_or_default()),
            tls_mode: tls("mode"),
            credential_name: tls("credentialName"),
        })
    }

    /// Its hosts, as written.
    pub fn host_leaves(&self) -> impl Iterator<Item = Leaf<'m>> + use<'m> {
        texts(self.node.items_at("hosts"))
    }

    /// Its hosts, each with the namespaces it takes VirtualServices from: a name, `.` or `*`.
    pub fn hosts(&self) -> impl Iterator<Item = (&'m str, &'m str)> + use<'m> {
        self.host_leaves()
            .map(|host| host.value.split_once('/').unwrap_or(("*", host.value)))
    }

    /// Whether it takes this host of a VirtualService.
    pub fn takes(&self, service: &Object, host: &Node, domain: &Domain) -> bool {
        let host = domain.fqdn(host.str().unwrap_or_default(), &service.id.namespace);
        self.hosts().any(|(from, pattern)| {
            let is_from = match from {
                "*" => true,
                "." => service.id.namespace == self.gateway.id.namespace,
                name => service.id.namespace == name,
            };
            is_from && overlaps(pattern, &host)
        })
    }

    /// The most specific of its hosts that covers a request's.
    pub(crate) fn host_for(&self, host: &str) -> Option<&'m str> {
        let patterns = self
            .hosts()
            .map(|(_, pattern)| pattern)
            .filter(|pattern| covers(pattern, host));
        patterns.min_by_key(|pattern| specificity(pattern))
    }
}
