//! A client beyond the ingress gateway: which gateway takes its call.

use super::{Loaded, Proxy, Walker, whole};
use crate::doc::json::Raw;
use crate::envoy::dump::Section;
use crate::sim::Record;
use crate::sim::listener::{Accepted, Side};
use crate::sim::trace::{Branch, End, Hop, Kind};
use crate::snapshot::{ProxyRef, Shape};

impl Walker<'_> {
    pub(super) fn outside(&self) -> (Vec<Hop>, Vec<Branch>) {
        let gateways: Vec<_> = self.snapshot.proxies_with(Shape::ConfigDump).map(|(proxy, _)| proxy).collect();
        let mut any = false;
        for gateway in &gateways {
            let Ok(loaded) = Loaded::open(self.snapshot, gateway) else { continue };
            let Ok(proxy) = Proxy::compile(&loaded) else { continue };
            if !is_gateway(&proxy) {
                continue;
            }
            any = true;
            let mut connection = self.plain_connection(self.question.source_ip);
            connection.destination = (self.gateway_address(gateway), self.gateway_port(gateway));
            if !matches!(
                proxy.listeners.accept(Side::Inbound, &connection, &mut Record::dropping()),
                Accepted::Taken(_)
            ) {
                continue;
            }
            let request = self.request(connection);
            let (hop, ways) = proxy.gateway(&request, self.now(), self.keep);
            return self.onwards(hop, ways);
        }
        let end = if any {
            let because = format!("no gateway listens on port {}", self.question.to.port);
            End::new(Kind::NoListener, 0, "", because)
        } else {
            End::undecided("the config dump of an ingress gateway")
        };
        (Vec::new(), vec![whole(end)])
    }

    fn gateway_address(&self, gateway: &ProxyRef) -> std::net::IpAddr {
        let pod = self.mesh.pod(&gateway.namespace, &gateway.pod);
        pod.and_then(|pod| pod.ips.first().copied()).unwrap_or(super::ELSEWHERE)
    }

    /// The port in the pod that the gateway's Service leads to.
    fn gateway_port(&self, gateway: &ProxyRef) -> u16 {
        let wanted = self.question.to.port;
        let services = self.mesh.services.iter().filter(|s| s.namespace == gateway.namespace);
        let selects = services.filter(|s| self.mesh.pods_of(s).any(|pod| pod.name == gateway.pod));
        let mut targets = selects.flat_map(|s| s.ports.iter()).filter(|(port, _)| *port == wanted);
        targets.find_map(|(_, target)| target.parse().ok()).unwrap_or(wanted)
    }
}

/// istiod calls a gateway's node `router`.
fn is_gateway(proxy: &Proxy<'_>) -> bool {
    let node = proxy.dump.section(Section::Bootstrap).and_then(|b| b.at(["bootstrap", "node", "id"]));
    node.and_then(Raw::string).is_some_and(|id| id.starts_with("router~"))
}
