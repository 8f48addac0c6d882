//! The whole way of a request: the client's proxy, the wire, the server's proxy, the application.
//!
//! `sim` knows single stages of Envoy; here they are strung together, hop by hop.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

use crate::request::{Connection, Request, Tls};
use crate::trace::{Branch, End, Hop, Trace};
use meshladder_capture::snapshot::Snapshot;
use meshladder_capture::ztunnel::dump::ZtunnelDump;
use meshladder_mesh::ambient::Redirection;
use meshladder_mesh::{Mesh, ServiceFacts};
use meshladder_text::time::Time;

mod across;
mod ambient;
pub mod call;
mod documents;
mod gateway;
mod hop;
mod inbound;
mod object;
mod proxy;
mod wire;

pub use across::{documents_of, name_documents, trace_across};
pub use call::{Call, Caller, Principal, Scheme, Url};
pub use documents::{Documents, OpenedDocuments};
use hop::{Forward, Next, Sent, Way, branch};
pub use inbound::{arriving, inbound};
use proxy::Proxy;

/// An address that no listener names: stands for one that DNS outside the cluster decides.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// Walks one request through the mesh. `keep` records the candidates that lost.
pub fn trace(snapshot: &Snapshot, mesh: &Mesh, call: &Call, keep: bool) -> Trace {
    let documents = Documents::of(snapshot);
    let detail = if keep { Detail::Losers } else { Detail::Steps };
    Walk::new(&documents, mesh).trace(call, detail)
}

/// How much of a walk is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Where the request may go and how it ends.
    Ends,
    /// Each decision too.
    Steps,
    /// And the candidates that lost.
    Losers,
}

/// A mesh, ready for many requests: what a proxy's documents say is read and compiled when a
/// request first meets it.
pub struct Walk<'d> {
    documents: &'d Documents<'d>,
    mesh: &'d Mesh,
    /// By the number of the proxy among the documents.
    proxies: Vec<OnceCell<Result<Box<Proxy<'d>>, String>>>,
    /// By the number of the ztunnel among the documents.
    ztunnels: Vec<OnceCell<Result<ZtunnelDump<'d>, String>>>,
    /// What DNS says of a host to the pods of a namespace.
    addresses: RefCell<HashMap<String, IpAddr>>,
    /// Who answers at an address.
    servers: RefCell<HashMap<IpAddr, Server>>,
    /// The cluster's name, where there are several.
    name: Option<&'d str>,
    /// The walks of the mesh's other clusters, by name.
    beside: Vec<(&'d str, Walk<'d>)>,
}

/// Who answers at an address.
#[derive(Clone, Debug)]
enum Server {
    /// The proxy of that number.
    Proxy(usize),
    /// A proxy of which there is no dump; the fact that is missing.
    Unseen(String),
    /// The ztunnel of its node.
    Captured,
    /// No proxy; whether the objects say so.
    None { is_known: bool },
}

impl<'d> Walk<'d> {
    /// A walk that has not read anything yet.
    pub fn new(documents: &'d Documents<'d>, mesh: &'d Mesh) -> Self {
        let proxies = (0..documents.len()).map(|_| OnceCell::new()).collect();
        Self {
            documents,
            mesh,
            proxies,
            ztunnels: (0..documents.ztunnels.len())
                .map(|_| OnceCell::new())
                .collect(),
            addresses: RefCell::default(),
            servers: RefCell::default(),
            name: None,
            beside: Vec::new(),
        }
    }

    /// Walks one request through the mesh.
    pub fn trace(&self, call: &Call, detail: Detail) -> Trace {
        let walker = Walker {
            walk: self,
            call,
            detail,
            now: self.documents.snapshot.taken_at(),
        };
        let (mut hops, mut branches) = walker.walk();
        if let Some(name) = self.name {
            for hop in &mut hops {
                hop.in_cluster.get_or_insert_with(|| name.to_owned());
            }
        }
        // The likeliest end first; among equals the order of the walk.
        branches.sort_by(|a, b| b.weight.unwrap_or(0.0).total_cmp(&a.weight.unwrap_or(0.0)));
        let undecided = || End::undecided("which proxy the request meets");
        let outcome = branches.first().map_or_else(undecided, |b| b.end.clone());
        Trace {
            hops,
            outcome,
            branches,
        }
    }

    /// The proxy of that number, compiled.
    fn proxy(&self, number: usize) -> Result<&Proxy<'d>, &str> {
        let compile = || {
            self.documents
                .open(number)
                .and_then(Proxy::compile)
                .map(Box::new)
        };
        self.proxies[number]
            .get_or_init(compile)
            .as_deref()
            .map_err(String::as_str)
    }

    /// The address behind a host, as the pods of a namespace see it.
    fn address(&self, host: &str, namespace: &str) -> IpAddr {
        let key = format!("{namespace} {host}");
        if let Some(address) = self.addresses.borrow().get(&key) {
            return *address;
        }
        let address = self
            .mesh
            .resolve(host, namespace)
            .address
            .unwrap_or(ELSEWHERE);
        self.addresses.borrow_mut().insert(key, address);
        address
    }

    fn server(&self, address: IpAddr) -> Server {
        if let Some(server) = self.servers.borrow().get(&address) {
            return server.clone();
        }
        let server = self.find_server(address);
        self.servers.borrow_mut().insert(address, server.clone());
        server
    }

    /// Whether the same becomes of a request at both addresses, since no proxy stands before
    /// either.
    fn are_alike(&self, one: IpAddr, other: IpAddr) -> bool {
        match (self.server(one), self.server(other)) {
            (Server::None { is_known: a }, Server::None { is_known: b }) => a == b,
            _ => false,
        }
    }

    /// The proxy in the pod that has an address: by the objects, or by what proxies say of
    /// themselves.
    fn find_server(&self, address: IpAddr) -> Server {
        if let Some(pod) = self.mesh.pod_at(address) {
            return match self.documents.find(&pod.namespace, &pod.name) {
                Some(number) => Server::Proxy(number),
                None if pod.has_proxy => {
                    Server::Unseen(documents::missing(&pod.namespace, &pod.name))
                }
                None if self.redirection(pod) != Redirection::None => Server::Captured,
                None => Server::None { is_known: true },
            };
        }
        if !self.mesh.pods.is_empty() {
            return Server::None { is_known: false };
        }
        let has_address =
            |number: &usize| self.documents.node(*number).addresses.contains(&address);
        (0..self.documents.len())
            .find(has_address)
            .map_or(Server::None { is_known: false }, Server::Proxy)
    }
}

/// One request on its way.
struct Walker<'w, 'd> {
    walk: &'w Walk<'d>,
    call: &'w Call,
    detail: Detail,
    now: Option<Time>,
}

impl Walker<'_, '_> {
    fn walk(&self) -> (Vec<Hop>, Vec<Branch>) {
        match &self.call.from {
            Caller::Outside => self.outside(),
            Caller::Pod { namespace, name } => self.pod(namespace, name),
            Caller::Somebody => self.to_server(&self.plain_connection(None)),
        }
    }

    fn pod(&self, namespace: &str, name: &str) -> (Vec<Hop>, Vec<Branch>) {
        let pod = self.walk.mesh.pod(namespace, name);
        let source = self
            .call
            .source_ip
            .or_else(|| pod.and_then(|pod| pod.ips.first().copied()));
        let captured = pod.filter(|pod| self.walk.redirection(pod) != Redirection::None);
        match (self.walk.documents.find(namespace, name), captured) {
            (Some(number), _) => self.through(number, source),
            (None, Some(pod)) => self.leave_captured(pod, source),
            // A pod without a proxy calls the server directly.
            (None, None) if pod.is_some_and(|pod| !pod.has_proxy) => {
                self.to_server(&self.plain_connection(source))
            }
            (None, None) => nowhere(End::undecided(&documents::missing(namespace, name))),
        }
    }

    fn through(&self, number: usize, source: Option<IpAddr>) -> (Vec<Hop>, Vec<Branch>) {
        let proxy = match self.walk.proxy(number) {
            Ok(proxy) => proxy,
            Err(fact) => return nowhere(End::undecided(fact)),
        };
        let request = self.request(self.plain_connection(source));
        let is_tcp = self.call.to.scheme == Scheme::Tcp;
        let (hop, ways) = proxy.outbound(&request, is_tcp, self.now, self.detail);
        self.onwards(hop, ways)
    }

    /// Follows every way out of a hop to its end.
    fn onwards(&self, mut hop: Hop, ways: Vec<Way>) -> (Vec<Hop>, Vec<Branch>) {
        let mut hops = Vec::new();
        let mut branches: Vec<Branch> = Vec::with_capacity(ways.len());
        // The likeliest way, and whether the hop itself ended it.
        let mut likeliest = (-1.0, 0, false);
        let mut last: Option<Forward> = None;
        for way in ways {
            let first = branches.len();
            let is_own = matches!(way.next, Next::End(_));
            let (cluster, endpoint) = (way.cluster.as_deref(), way.endpoint);
            match way.next {
                Next::End(end) => {
                    last = None;
                    branches.push(branch(
                        way.weight,
                        cluster,
                        endpoint,
                        wire::with_flags(end, &way.flags),
                    ));
                }
                Next::Forward(forward) => {
                    // Where only the ends count, endpoints that no proxy stands before are alike.
                    if let (Detail::Ends, Some(last), Some(one)) =
                        (self.detail, &last, branches.last_mut())
                        && Rc::ptr_eq(&last.sent, &forward.sent)
                        && self
                            .walk
                            .are_alike(last.destination.0, forward.destination.0)
                    {
                        one.weight = one.weight.zip(way.weight).map(|(a, b)| a + b);
                        continue;
                    }
                    let (inner_hops, inner) = self.arrive(&forward, self.peer(&hop, &forward));
                    hops.extend(inner_hops);
                    branches.extend(inner.into_iter().map(|inner| {
                        let weight = way.weight.zip(inner.weight).map(|(a, b)| a * b);
                        let end = if hop.is_ztunnel {
                            inner.end
                        } else {
                            wire::seen_by_envoy(inner.end, forward.sent.is_tcp)
                        };
                        // Behind a ztunnel the waypoint's cluster and endpoint say more.
                        let cluster = cluster.or(inner.cluster.as_deref());
                        let endpoint = inner.endpoint.filter(|_| hop.is_ztunnel).or(endpoint);
                        branch(weight, cluster, endpoint, wire::with_flags(end, &way.flags))
                    }));
                    last = Some(forward);
                }
            }
            for (number, branch) in branches.iter().enumerate().skip(first) {
                let weight = branch.weight.unwrap_or(0.0);
                if weight > likeliest.0 {
                    likeliest = (weight, number, is_own);
                }
            }
        }
        if let Some(branch) = branches
            .get(likeliest.1)
            .filter(|_| self.detail >= Detail::Steps)
        {
            hop.log = wire::client_log(branch, likeliest.2, hop.route.as_deref());
        }
        hops.insert(0, hop);
        (hops, branches)
    }

    /// A request at the address that the first hop chose.
    fn arrive(&self, forward: &Forward, peer: Option<IpAddr>) -> (Vec<Hop>, Vec<Branch>) {
        let sent = &*forward.sent;
        if let Some(waypoint) = forward.waypoint {
            return self.enter_waypoint(waypoint, forward);
        }
        let number = match self.walk.server(forward.destination.0) {
            Server::Proxy(number) => number,
            Server::Unseen(fact) => return nowhere(End::undecided(&fact)),
            Server::Captured => return self.enter_captured(forward, peer),
            Server::None { .. } if sent.tunnel.is_some() => return self.not_captured(forward),
            Server::None { is_known } => {
                if let Some(crossed) = self.across(forward, peer) {
                    return crossed;
                }
                // A proxy that passes a call on to a Service's address leaves the choice of a pod
                // to kube-proxy.
                let pods = self.behind(forward.destination);
                if !pods.is_empty() {
                    return self.spread(&forward.sent, peer, pods);
                }
                let presents = sent
                    .request
                    .connection
                    .tls
                    .as_ref()
                    .is_some_and(|tls| tls.peer.is_some());
                return nowhere(wire::without_proxy(
                    forward.destination,
                    presents && is_known,
                ));
            }
        };
        if let Some(fact) = &sent.unknown {
            return nowhere(End::undecided(fact));
        }
        let server = match self.walk.proxy(number) {
            Ok(server) => server,
            Err(fact) => return nowhere(End::undecided(fact)),
        };
        self.enter(server, &Self::out_of_tunnel(forward), sent.is_tcp)
    }

    /// The other end of the socket that a hop sends on: its own pod's, or, as ztunnel sends in the
    /// name of the pod, the caller's.
    fn peer(&self, hop: &Hop, forward: &Forward) -> Option<IpAddr> {
        if hop.is_ztunnel {
            return forward.sent.request.connection.source.map(|(ip, _)| ip);
        }
        let pod = self.walk.mesh.pod(&hop.proxy.namespace, &hop.proxy.pod)?;
        pod.ips.first().copied()
    }

    fn enter(
        &self,
        server: &Proxy<'_>,
        request: &Request,
        is_tcp: bool,
    ) -> (Vec<Hop>, Vec<Branch>) {
        let request = self.call.presented(request);
        let (mut hop, ways) = server.inbound(&request, is_tcp, self.now, self.detail);
        let branches: Vec<_> = ways.into_iter().map(Way::into_branch).collect();
        hop.log = wire::server_log(&hop, &branches);
        (vec![hop], branches)
    }

    /// Straight to the server: the client has no proxy, or is not described.
    fn to_server(&self, connection: &Connection) -> (Vec<Hop>, Vec<Branch>) {
        let is_tcp = self.call.to.scheme == Scheme::Tcp;
        let targets = self.server_addresses();
        if targets.is_empty() {
            let fact = format!("which pod {} leads to", self.call.to.host);
            return nowhere(End::undecided(&fact));
        }
        let sent = Rc::new(Sent {
            request: self.request(self.call.to_server(connection)),
            is_tcp,
            unknown: None,
            tunnel: None,
        });
        let peer = connection.source.map(|(ip, _)| ip);
        self.spread(&sent, peer, targets)
    }

    /// A request at one of several addresses, each as likely as the others.
    fn spread(
        &self,
        sent: &Rc<Sent>,
        peer: Option<IpAddr>,
        targets: Vec<(IpAddr, u16)>,
    ) -> (Vec<Hop>, Vec<Branch>) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a Service has far fewer pods than a float has digits"
        )]
        let share = 1.0 / targets.len() as f64;
        let (mut hops, mut branches) = (Vec::new(), Vec::new());
        for destination in targets {
            let forward = Forward {
                sent: Rc::clone(sent),
                destination,
                waypoint: None,
                elsewhere: None,
            };
            let (more, ends) = self.arrive(&forward, peer);
            hops.extend(more);
            branches.extend(ends.into_iter().map(|branch| Branch {
                weight: branch.weight.map(|weight| weight * share),
                endpoint: Some(destination),
                ..branch
            }));
        }
        (hops, branches)
    }

    /// Address and port of the pods behind a Service's own address.
    fn behind(&self, (address, port): (IpAddr, u16)) -> Vec<(IpAddr, u16)> {
        let mut services = self.walk.mesh.services.iter();
        let service = services.find(|service| service.cluster_ips.contains(&address));
        service.map_or_else(Vec::new, |service| self.targets(service, port))
    }

    /// Address and port of a Service's pods, as kube-proxy leads there from one of its ports.
    fn targets(&self, service: &ServiceFacts, port: u16) -> Vec<(IpAddr, u16)> {
        let target = service
            .ports
            .iter()
            .find(|(number, _)| *number == port)
            .map(|(_, target)| target.as_str());
        // A named port differs from pod to pod; the number is what matters to a listener.
        let target = target
            .and_then(|target| target.parse().ok())
            .unwrap_or(port);
        self.walk
            .mesh
            .pods_of(service)
            .filter_map(|pod| Some((*pod.ips.first()?, target)))
            .collect()
    }

    /// Address and port of the pods behind the URL's host, as kube-proxy would lead there.
    fn server_addresses(&self) -> Vec<(IpAddr, u16)> {
        let Url { host, port, .. } = &self.call.to;
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return vec![(address, *port)];
        }
        let namespace = if let Caller::Pod { namespace, .. } = &self.call.from {
            namespace
        } else {
            "default"
        };
        let Some(service) = self
            .walk
            .mesh
            .service_named(&host.to_ascii_lowercase(), namespace)
        else {
            return self.servers_by_own_word(host, *port);
        };
        self.targets(service, *port)
    }

    /// The connection that the calling application makes.
    fn plain_connection(&self, source: Option<IpAddr>) -> Connection {
        let Call { to, http, sni, .. } = self.call;
        let namespace = if let Caller::Pod { namespace, .. } = &self.call.from {
            namespace
        } else {
            "default"
        };
        let address = self.walk.address(&to.host, namespace);
        let own_tls = || Tls {
            sni: sni
                .clone()
                .unwrap_or_else(|| to.host.parse::<IpAddr>().is_err().then(|| to.host.clone())),
            alpn: vec!["h2".to_owned(), "http/1.1".to_owned()],
            peer: self.call.own_certificate(),
        };
        Connection {
            destination: (address, to.port),
            source: source.map(|ip| (ip, 0)),
            tls: (to.scheme == Scheme::Https).then(own_tls),
            plain_http: (to.scheme == Scheme::Http).then_some(match http.as_str() {
                "1.0" => "http/1.0",
                "2" => "h2c",
                _ => "http/1.1",
            }),
        }
    }

    fn request(&self, connection: Connection) -> Request {
        let Call {
            to,
            method,
            headers,
            claims,
            ..
        } = self.call;
        let host = headers
            .iter()
            .find(|(name, _)| name == "host")
            .map(|(_, value)| value.clone());
        Request {
            connection,
            method: method.clone(),
            scheme: to.scheme.word().to_owned(),
            authority: host.unwrap_or_else(|| to.authority()),
            path: to.path.clone(),
            headers: headers
                .iter()
                .filter(|(name, _)| name != "host")
                .cloned()
                .collect(),
            claims: claims.clone(),
            unknown_headers: Vec::new(),
        }
    }
}

/// An end that no proxy is on the way to.
fn nowhere(end: End) -> (Vec<Hop>, Vec<Branch>) {
    (
        Vec::new(),
        vec![Branch {
            weight: Some(1.0),
            cluster: None,
            endpoint: None,
            end,
        }],
    )
}

#[cfg(test)]
mod tests;
