//! A client beyond the ingress gateway: which gateway takes its call.

use super::{Walker, nowhere};
use crate::DecisionRecord;
use crate::listener::{ListenerOutcome, TrafficDirection};
use crate::trace::{Branch, End, EndKind, Hop};
use meshladder_capture::snapshot::ProxyRef;

impl Walker<'_, '_> {
    pub(super) fn outside(&self) -> (Vec<Hop>, Vec<Branch>) {
        let documents = self.walk.documents;
        let mut any = false;
        for number in (0..documents.len()).filter(|number| documents.node(*number).is_gateway) {
            let Ok(proxy) = self.walk.proxy(number) else {
                continue;
            };
            any = true;
            let gateway = documents.proxy(number);
            let mut connection = self.plain_connection(self.call.source_ip);
            connection.destination = (self.gateway_address(gateway), self.gateway_port(gateway));
            let accepted = proxy.listeners.accept(
                TrafficDirection::Inbound,
                &connection,
                &mut DecisionRecord::dropping(),
            );
            if !matches!(accepted, ListenerOutcome::Taken(_)) {
                continue;
            }
            let request = self.request(connection);
            let (hop, ways) = proxy.gateway(&request, self.now, self.detail);
            return self.onwards(hop, ways);
        }
        let end = if any {
            let because = format!("no gateway listens on port {}", self.call.to.port);
            End::new(EndKind::NoListener, 0, "", because)
        } else {
            End::undecided("the config dump of an ingress gateway")
        };
        nowhere(end)
    }

    fn gateway_address(&self, gateway: &ProxyRef) -> std::net::IpAddr {
        let pod = self.walk.mesh.pod(&gateway.namespace, &gateway.pod);
        pod.and_then(|pod| pod.ips.first().copied())
            .unwrap_or(super::ELSEWHERE)
    }

    /// The port in the pod that the gateway's Service leads to.
    fn gateway_port(&self, gateway: &ProxyRef) -> u16 {
        let mesh = self.walk.mesh;
        let wanted = self.call.to.port;
        let services = mesh
            .services
            .iter()
            .filter(|s| s.namespace == gateway.namespace);
        let selects = services.filter(|s| mesh.pods_of(s).any(|pod| pod.name == gateway.pod));
        let mut targets = selects
            .flat_map(|s| s.ports.iter())
            .filter(|(port, _)| *port == wanted);
        targets
            .find_map(|(_, target)| target.parse().ok())
            .unwrap_or(wanted)
    }
}
