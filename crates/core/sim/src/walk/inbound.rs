//! A request that starts at the server: nobody described the caller's side, or only the server's
//! dump is at hand.

use std::net::IpAddr;

use super::proxy::Proxy;
use super::{Call, Detail, Documents, ELSEWHERE, Scheme, Walk, Walker, documents};
use crate::listener::Listener;
use crate::request::{Connection, Request};
use crate::trace::{End, Trace};
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{ProxyRef, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_text::json::Raw;

/// Walks requests through the proxy of one server only, each on the connection that its question
/// describes. Beside each question stands the pod's own port, where the objects tell it. The proxy
/// is compiled once.
pub fn inbound(
    snapshot: &Snapshot,
    mesh: &Mesh,
    server: &ProxyRef,
    calls: &[(Call, Option<u16>)],
    keep: bool,
) -> Vec<Trace> {
    let documents = Documents::of(snapshot);
    let walk = Walk::new(&documents, mesh);
    let number = documents.find(&server.namespace, &server.pod);
    let number = number.ok_or_else(|| documents::missing(&server.namespace, &server.pod));
    let proxy = number.and_then(|number| walk.proxy(number).map_err(str::to_owned));
    let detail = if keep { Detail::Losers } else { Detail::Steps };
    let each = calls.iter().map(|(call, port)| {
        let walker = Walker {
            walk: &walk,
            call,
            detail,
            now: snapshot.taken_at(),
        };
        let proxy = match &proxy {
            Ok(proxy) => proxy,
            Err(fact) => {
                return Trace {
                    hops: Vec::new(),
                    outcome: End::undecided(fact),
                    branches: Vec::new(),
                };
            }
        };
        let request = walker.arriving(walker.address_of(server, *port));
        let (hops, branches) = walker.enter(proxy, &request, call.to.scheme == Scheme::Tcp);
        let outcome = branches.first().map_or_else(
            || End::undecided("where the request ends"),
            |b| b.end.clone(),
        );
        Trace {
            hops,
            outcome,
            branches,
        }
    });
    each.collect()
}

/// The request as it arrives at a server's address, on the connection that the question describes.
pub fn arriving(
    snapshot: &Snapshot,
    mesh: &Mesh,
    call: &Call,
    destination: (IpAddr, u16),
) -> Request {
    let documents = Documents::of(snapshot);
    let walk = Walk::new(&documents, mesh);
    Walker {
        walk: &walk,
        call,
        detail: Detail::Ends,
        now: None,
    }
    .arriving(destination)
}

impl Walker<'_, '_> {
    fn arriving(&self, destination: (IpAddr, u16)) -> Request {
        let connection = self
            .call
            .to_server(&self.plain_connection(self.call.source_ip));
        self.request(Connection {
            destination,
            ..connection
        })
    }

    /// Address and port at which a server takes what the URL names; `port` is what the objects say.
    fn address_of(&self, server: &ProxyRef, port: Option<u16>) -> (IpAddr, u16) {
        let url = &self.call.to;
        let pod = self
            .walk
            .mesh
            .pod(&server.namespace, &server.pod)
            .and_then(|pod| pod.ips.first().copied());
        if let (Some(address), Some(port)) = (pod, port) {
            return (address, port);
        }
        let number = self.walk.documents.find(&server.namespace, &server.pod);
        let own = number.and_then(|number| self.own_word(number, &url.host, url.port));
        let address = pod.or(own.map(|(address, _)| address)).unwrap_or(ELSEWHERE);
        (
            address,
            port.or(own.map(|(_, port)| port)).unwrap_or(url.port),
        )
    }

    /// The proxies that say of themselves that they serve a host.
    pub(super) fn servers_by_own_word(&self, host: &str, port: u16) -> Vec<(IpAddr, u16)> {
        if !self.walk.mesh.services.is_empty() {
            return Vec::new();
        }
        (0..self.walk.documents.len())
            .filter_map(|number| self.own_word(number, host, port))
            .collect()
    }

    fn own_word(&self, number: usize, host: &str, port: u16) -> Option<(IpAddr, u16)> {
        let proxy = self.walk.proxy(number).ok()?;
        let address = *self.walk.documents.node(number).addresses.first()?;
        if !proxy.clusters_serve(host) {
            return None;
        }
        let listeners = proxy
            .listeners
            .listeners
            .iter()
            .filter(|listener| listener.traffic_direction == "INBOUND");
        let target = listeners
            .flat_map(|listener| target_ports(listener, host, port))
            .next();
        Some((address, target.unwrap_or(port)))
    }
}

impl Proxy<'_> {
    /// Whether an inbound cluster is for a Service of that name.
    fn clusters_serve(&self, host: &str) -> bool {
        let inbound = self
            .dump
            .of(Section::Clusters)
            .filter(|cluster| cluster.name.starts_with("inbound|"));
        let services = inbound.filter_map(|c| c.raw?.at(["metadata", "filter_metadata", "istio"]));
        let mut hosts = services
            .flat_map(|istio| istio.list("services"))
            .filter_map(|s| s.string_at("host"));
        hosts.any(|own| is_same(&own, host))
    }
}

/// The pod's ports behind a Service's port. The proxy does not know the Service, but the routes of
/// its chains are decorated with what they are for: `payments.shop.svc.cluster.local:8080/*`.
fn target_ports(listener: &Listener<'_>, host: &str, port: u16) -> Vec<u16> {
    let is_for = |operation: &str| {
        let service = operation
            .strip_suffix("/*")
            .and_then(|service| service.rsplit_once(':'));
        service.is_some_and(|(own, number)| is_same(own, host) && number.parse() == Ok(port))
    };
    let chains = listener
        .raw
        .list("filter_chains")
        .filter(|chain| operations(*chain).any(|o| is_for(&o)));
    let ports = chains.filter_map(|chain| {
        chain
            .at(["filter_chain_match", "destination_port"])?
            .number()
    });
    ports.filter_map(|port| port.try_into().ok()).collect()
}

fn operations(chain: Raw<'_>) -> impl Iterator<Item = String> {
    let configs = chain
        .list("filters")
        .filter_map(|filter| filter.at(["typed_config", "route_config"]));
    let routes = configs
        .flat_map(|c| c.list("virtual_hosts"))
        .flat_map(|v| v.list("routes"));
    routes.filter_map(|route| {
        route
            .at(["decorator", "operation"])?
            .string()
            .map(std::borrow::Cow::into_owned)
    })
}

/// `httpbin.shop` is short for `httpbin.shop.svc.cluster.local`.
fn is_same(full: &str, host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    full.strip_prefix(&*host)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
