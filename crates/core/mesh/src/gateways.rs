//! Istio's `Gateway`: the pods it configures, its servers, and the VirtualServices bound to it.

use super::host::specificity;
use super::policies::age;
use super::{Mesh, Object};
use crate::views::{Gateway, Pod};
use meshladder_capture::Kind;

pub use crate::views::gateway::Server;

impl Mesh {
    /// The Gateway of that name.
    pub fn gateway(&self, namespace: &str, name: &str) -> Option<&Object> {
        self.objects.get(Kind::Gateway, namespace, name)
    }

    /// The pods that a Gateway configures, in whatever namespace.
    pub fn gateway_pods<'m>(&'m self, gateway: &'m Object) -> Vec<&'m Object> {
        match Gateway::of(gateway).selector() {
            Some(selector) => self.pods_with(None, selector).collect(),
            None => Pod::all(&self.objects)
                .filter(|pod| pod.is_router())
                .map(|pod| pod.object)
                .collect(),
        }
    }

    /// The Gateways that configure a pod, the oldest first.
    pub fn gateways_of(&self, pod: &Object) -> Vec<&Object> {
        let mut found: Vec<_> = self
            .objects
            .of_kind(Kind::Gateway)
            .iter()
            .filter(|gateway| Gateway::of(gateway).configures(pod))
            .collect();
        found.sort_by_key(|gateway| age(&gateway.node));
        found
    }

    /// The VirtualServices that name a Gateway, the oldest first, whether or not any server of it
    /// takes their hosts.
    pub fn naming(&self, gateway: &Object) -> Vec<&Object> {
        let services = self.objects.of_kind(Kind::VirtualService);
        let named = self
            .index
            .naming
            .get(gateway.id.namespace.as_str())
            .and_then(|here| here.get(gateway.id.name.as_str()));
        let positions = named.map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> = positions
            .iter()
            .map(|position| &services[*position])
            .collect();
        found.sort_by_key(|service| age(&service.node));
        found
    }

    /// The VirtualServices that a gateway's pods in `namespace` route by on this server, merged in
    /// this order.
    pub fn bound<'m>(&'m self, server: Server<'_>, namespace: &str) -> Vec<&'m Object> {
        let takes = |service: &Object| {
            service
                .spec_list("hosts")
                .iter()
                .any(|host| server.takes(service, host, &self.domain))
        };
        let visible = |service: &&Object| self.is_exported_to(service, namespace) && takes(service);
        self.naming(server.gateway)
            .into_iter()
            .filter(visible)
            .collect()
    }

    /// The server that answers for a host on a port of a gateway's pod: the most specific, then the
    /// oldest Gateway's.
    pub fn server_for<'m>(&'m self, pod: &Object, port: u16, host: &str) -> Option<Server<'m>> {
        let servers = self
            .gateways_of(pod)
            .into_iter()
            .flat_map(servers)
            .filter(|server| server.port == port);
        let best = servers.filter_map(|server| Some((server.host_for(host)?, server)));
        best.min_by_key(|(pattern, _)| specificity(pattern))
            .map(|(_, server)| server)
    }
}

/// The servers of a Gateway.
pub fn servers(gateway: &Object) -> impl Iterator<Item = Server<'_>> {
    Gateway::of(gateway).servers()
}

/// Namespace and name that a VirtualService's `gateways` entry means: `ns/name`, `./name`, `name`,
/// and the old `name.ns`.
pub fn gateway_name<'g>(entry: &'g str, namespace: &'g str) -> (&'g str, &'g str) {
    match (entry.split_once('/'), entry.split_once('.')) {
        (Some((".", name)), _) => (namespace, name),
        (Some((other, name)), _) => (other, name),
        (None, Some((name, rest))) => (rest.split_once('.').map_or(rest, |(ns, _)| ns), name),
        (None, None) => (namespace, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::Protocol;
    use crate::tests::mesh_of;

    const OBJECTS: &str = "kind: Pod
metadata: {name: gw, namespace: ingress, labels: {istio: ingress}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: ingress}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: main, namespace: ingress, creationTimestamp: '2026-01-02T00:00:00Z'}
spec:
  selector: {istio: ingress}
  servers:
  - {port: {number: 80, protocol: HTTP}, hosts: ['shop/*.test', './own.test']}
  - {port: {number: 443, protocol: HTTPS}, tls: {mode: SIMPLE, credentialName: cert}, hosts: ['*']}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: older, namespace: shop, creationTimestamp: '2026-01-01T00:00:00Z'}
spec: {selector: {istio: ingress}, servers: [{port: {number: 80, protocol: HTTP}, hosts: ['*.b.test', '*.test']}]}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: other, namespace: shop}
spec: {selector: {istio: egress}}
---
kind: VirtualService
metadata: {name: a, namespace: shop}
spec: {hosts: [a.test], gateways: [ingress/main]}
---
kind: VirtualService
metadata: {name: b, namespace: tools}
spec: {hosts: [b.test], gateways: [main.ingress, mesh]}
---
kind: VirtualService
metadata: {name: c, namespace: ingress}
spec: {hosts: [own.test], gateways: [main]}
---
kind: VirtualService
metadata: {name: private, namespace: shop}
spec: {hosts: [p.test], gateways: [ingress/main], exportTo: [.]}
---
kind: VirtualService
metadata: {name: no, namespace: shop}
spec: {hosts: [a.test], gateways: [main]}
";

    fn names<'m>(objects: impl IntoIterator<Item = &'m Object>) -> Vec<&'m str> {
        objects
            .into_iter()
            .map(|object| object.id.name.as_str())
            .collect()
    }

    #[test]
    fn a_gateway_binds_pods_and_virtual_services() {
        let mesh = mesh_of(OBJECTS);
        let main = mesh.gateway("ingress", "main").expect("it is there");
        let pod = mesh
            .objects
            .get(Kind::Pod, "ingress", "gw")
            .expect("it is there");
        assert_eq!(
            (names(mesh.gateway_pods(main)), names(mesh.gateways_of(pod))),
            (vec!["gw"], vec!["older", "main"])
        );
        assert_eq!(names(mesh.naming(main)), ["a", "b", "c", "private"]);
        let bound: Vec<_> = servers(main)
            .map(|server| names(mesh.bound(server, "ingress")))
            .collect();
        assert_eq!(bound, [vec!["a", "c"], vec!["a", "b", "c"]]);
    }

    #[test]
    fn the_most_specific_server_answers_then_the_oldest() {
        let mesh = mesh_of(OBJECTS);
        let pod = mesh
            .objects
            .get(Kind::Pod, "ingress", "gw")
            .expect("it is there");
        for (port, host, expected) in [
            (80, "x.test", Some("older")),
            (80, "own.test", Some("main")),
            (80, "a.example", None),
            (443, "a.example", Some("main")),
            (81, "x.test", None),
        ] {
            let found = mesh.server_for(pod, port, host);
            assert_eq!(
                found.map(|server| server.gateway.id.name.as_str()),
                expected,
                "{port} {host}"
            );
        }
        let tls = mesh.server_for(pod, 443, "a.example").expect("it is there");
        assert_eq!(
            (tls.tls_mode, tls.credential_name, tls.protocol),
            (Some("SIMPLE"), Some("cert"), Protocol::Https)
        );
    }

    #[test]
    fn a_gateway_is_named_in_four_ways() {
        for (entry, expected) in [
            ("ns/gw", ("ns", "gw")),
            ("./gw", ("shop", "gw")),
            ("gw", ("shop", "gw")),
            ("gw.ns", ("ns", "gw")),
            ("gw.ns.svc.cluster.local", ("ns", "gw")),
        ] {
            assert_eq!(gateway_name(entry, "shop"), expected);
        }
    }
}
