//! The whole way of a request: the client's proxy, the wire, the server's proxy, the application.
//!
//! `sim` knows single stages of Envoy; here they are strung together, hop by hop.

use std::net::IpAddr;

use crate::mesh::Mesh;
use crate::sim::request::{Connection, Request, Tls};
use crate::sim::trace::{Branch, End, Hop, Kind, Trace};
use crate::snapshot::{ProxyRef, Shape, Snapshot};

mod gateway;
mod hop;
mod inbound;
mod proxy;
pub mod question;

use hop::{Forward, Next, Way};
pub use inbound::{arriving, inbound};
use proxy::{Loaded, Proxy};
pub use question::{Caller, Principal, Question, Scheme, Url};

/// An address that no listener names: stands for one that DNS outside the cluster decides.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// Walks one request through the mesh. `keep` records the candidates that lost.
pub fn trace(snapshot: &Snapshot, mesh: &Mesh, question: &Question, keep: bool) -> Trace {
    let walker = Walker { snapshot, mesh, question, keep };
    let (hops, branches) = walker.walk();
    let mut branches = branches;
    // The likeliest end first; among equals the order of the walk.
    branches.sort_by(|a, b| b.weight.unwrap_or(0.0).total_cmp(&a.weight.unwrap_or(0.0)));
    let outcome = branches.first().map_or_else(|| End::undecided("which proxy the request meets"), |b| b.end.clone());
    Trace { hops, outcome, branches }
}

struct Walker<'s> {
    snapshot: &'s Snapshot,
    mesh: &'s Mesh,
    question: &'s Question,
    keep: bool,
}

impl Walker<'_> {
    fn walk(&self) -> (Vec<Hop>, Vec<Branch>) {
        match &self.question.from {
            Caller::Outside => self.outside(),
            Caller::Pod { namespace, name } => self.pod(namespace, name),
            Caller::Somebody => self.to_server(&self.plain_connection(None)),
        }
    }

    fn pod(&self, namespace: &str, name: &str) -> (Vec<Hop>, Vec<Branch>) {
        let pod = self.mesh.pod(namespace, name);
        let source = self.question.source_ip.or_else(|| pod.and_then(|pod| pod.ips.first().copied()));
        let proxy = ProxyRef { source: String::new(), namespace: namespace.to_owned(), pod: name.to_owned() };
        match Loaded::open(self.snapshot, &proxy) {
            Ok(loaded) => self.through(&loaded, source),
            // A pod without a proxy calls the server directly.
            Err(_) if pod.is_some_and(|pod| !pod.has_proxy) => self.to_server(&self.plain_connection(source)),
            Err(fact) => (Vec::new(), vec![whole(End::undecided(&fact))]),
        }
    }

    fn through(&self, loaded: &Loaded, source: Option<IpAddr>) -> (Vec<Hop>, Vec<Branch>) {
        let proxy = match Proxy::compile(loaded) {
            Ok(proxy) => proxy,
            Err(fact) => return (Vec::new(), vec![whole(End::undecided(&fact))]),
        };
        let request = self.request(self.plain_connection(source));
        let (hop, ways) = proxy.outbound(&request, self.question.to.scheme == Scheme::Tcp, self.now(), self.keep);
        self.onwards(hop, ways)
    }

    /// Follows every way out of a hop to its end.
    fn onwards(&self, mut hop: Hop, ways: Vec<Way>) -> (Vec<Hop>, Vec<Branch>) {
        let mut hops = Vec::new();
        let mut branches = Vec::new();
        for way in ways {
            match way.next {
                Next::End(end) => branches.push(Branch {
                    weight: way.weight,
                    cluster: way.cluster,
                    endpoint: way.endpoint,
                    end: with_flags(end, &way.flags),
                }),
                Next::Forward(forward) => {
                    let (inner_hops, inner) = self.arrive(&forward);
                    hops.extend(inner_hops);
                    branches.extend(inner.into_iter().map(|branch| Branch {
                        weight: way.weight.zip(branch.weight).map(|(a, b)| a * b),
                        cluster: way.cluster.clone(),
                        endpoint: way.endpoint.clone(),
                        end: with_flags(branch.end, &way.flags),
                    }));
                }
            }
        }
        hop.log = client_log(&hop, &branches);
        hops.insert(0, hop);
        (hops, branches)
    }

    /// A request at the address that the first hop chose.
    fn arrive(&self, forward: &Forward) -> (Vec<Hop>, Vec<Branch>) {
        let (address, _) = forward.request.connection.destination;
        let Some(proxy) = self.proxy_at(address) else {
            let pod = self.mesh.pod_at(address);
            return (Vec::new(), vec![whole(without_proxy(forward, pod.map(|pod| pod.has_proxy)))]);
        };
        let loaded = match Loaded::open(self.snapshot, &proxy) {
            Ok(loaded) => loaded,
            Err(fact) => return (Vec::new(), vec![whole(End::undecided(&fact))]),
        };
        match Proxy::compile(&loaded) {
            Ok(server) => self.enter(&server, forward),
            Err(fact) => (Vec::new(), vec![whole(End::undecided(&fact))]),
        }
    }

    fn enter(&self, server: &Proxy<'_>, forward: &Forward) -> (Vec<Hop>, Vec<Branch>) {
        let request = self.question.presented(&forward.request);
        let (mut hop, ways) = server.inbound(&request, forward.is_tcp, self.now(), self.keep);
        let branches: Vec<_> = ways.into_iter().map(Way::into_branch).collect();
        hop.log = server_log(&hop, &branches);
        (vec![hop], branches)
    }

    /// The proxy in the pod that has an address: by the objects, or by what proxies say of themselves.
    fn proxy_at(&self, address: IpAddr) -> Option<ProxyRef> {
        if let Some(pod) = self.mesh.pod_at(address) {
            let wanted = |proxy: &ProxyRef| proxy.namespace == pod.namespace && proxy.pod == pod.name;
            return self.snapshot.proxies_with(Shape::ConfigDump).map(|(p, _)| p).find(wanted).or_else(|| {
                let proxy = ProxyRef { source: String::new(), namespace: pod.namespace.clone(), pod: pod.name.clone() };
                pod.has_proxy.then_some(proxy)
            });
        }
        if !self.mesh.pods.is_empty() {
            return None;
        }
        let mut proxies = self.snapshot.proxies_with(Shape::ConfigDump).map(|(proxy, _)| proxy);
        proxies.find(|proxy| Loaded::open(self.snapshot, proxy).is_ok_and(|loaded| loaded.has_address(address)))
    }

    /// Straight to the server: the client has no proxy, or is not described.
    fn to_server(&self, connection: &Connection) -> (Vec<Hop>, Vec<Branch>) {
        let is_tcp = self.question.to.scheme == Scheme::Tcp;
        let targets = self.server_addresses();
        if targets.is_empty() {
            let fact = format!("which pod {} leads to", self.question.to.host);
            return (Vec::new(), vec![whole(End::undecided(&fact))]);
        }
        #[expect(clippy::cast_precision_loss, reason = "a Service has far fewer pods than a float has digits")]
        let share = 1.0 / targets.len() as f64;
        let (mut hops, mut branches) = (Vec::new(), Vec::new());
        for destination in targets {
            let connection = Connection { destination, ..self.question.to_server(connection) };
            let (more, ends) = self.arrive(&Forward { request: self.request(connection), is_tcp });
            hops.extend(more);
            branches.extend(ends.into_iter().map(|branch| Branch {
                weight: branch.weight.map(|weight| weight * share),
                endpoint: Some(format!("{}:{}", destination.0, destination.1)),
                ..branch
            }));
        }
        (hops, branches)
    }

    /// Address and port of the pods behind the URL's host, as kube-proxy would lead there.
    fn server_addresses(&self) -> Vec<(IpAddr, u16)> {
        let Url { host, port, .. } = &self.question.to;
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return vec![(address, *port)];
        }
        let namespace = if let Caller::Pod { namespace, .. } = &self.question.from { namespace } else { "default" };
        let Some(service) = self.mesh.service_named(&host.to_ascii_lowercase(), namespace) else {
            return self.servers_by_own_word(host, *port);
        };
        let target = service.ports.iter().find(|(number, _)| number == port).map(|(_, target)| target.as_str());
        // A named port differs from pod to pod; the number is what matters to a listener.
        let target = target.and_then(|target| target.parse().ok()).unwrap_or(*port);
        self.mesh.pods_of(service).filter_map(|pod| Some((*pod.ips.first()?, target))).collect()
    }

    fn now(&self) -> Option<crate::time::Time> {
        self.snapshot.taken_at()
    }

    /// The connection that the calling application makes.
    fn plain_connection(&self, source: Option<IpAddr>) -> Connection {
        let Question { to, http, sni, .. } = self.question;
        let namespace = if let Caller::Pod { namespace, .. } = &self.question.from { namespace } else { "default" };
        let address = self.mesh.resolve(&to.host, namespace).address.unwrap_or(ELSEWHERE);
        let own_tls = || Tls {
            sni: sni.clone().unwrap_or_else(|| to.host.parse::<IpAddr>().is_err().then(|| to.host.clone())),
            alpn: vec!["h2".to_owned(), "http/1.1".to_owned()],
            peer: self.question.own_certificate(),
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
        let Question { to, method, headers, claims, .. } = self.question;
        let host = headers.iter().find(|(name, _)| name == "host").map(|(_, value)| value.clone());
        Request {
            connection,
            method: method.clone(),
            scheme: to.scheme.word().to_owned(),
            authority: host.unwrap_or_else(|| to.authority()),
            path: to.path.clone(),
            headers: headers.iter().filter(|(name, _)| name != "host").cloned().collect(),
            claims: claims.clone(),
        }
    }
}

fn whole(end: End) -> Branch {
    Branch { weight: Some(1.0), cluster: None, endpoint: None, end }
}

/// Flags that an earlier stage set, as `DI` for a delay.
fn with_flags(mut end: End, flags: &[&'static str]) -> End {
    let missing: Vec<_> = flags.iter().filter(|flag| !end.flags.contains(flag)).copied().collect();
    end.flags.splice(0..0, missing);
    end
}

/// Behind an address that no proxy answers for.
fn without_proxy(forward: &Forward, has_proxy: Option<bool>) -> End {
    let (address, port) = forward.request.connection.destination;
    match (&forward.request.connection.tls, has_proxy) {
        (Some(tls), Some(false)) if tls.peer.is_some() => {
            let because = format!("mTLS is sent to {address}:{port}, where no proxy terminates it");
            End::new(Kind::TlsMismatch, 503, "upstream_reset_before_response_started{connection_termination}", because)
                .flag("UC")
        }
        _ => End::new(Kind::Forwarded, 200, "via_upstream", format!("it reaches {address}:{port}")),
    }
}

/// What the first hop logs: its own answer, or what came back from the next one.
fn client_log(hop: &Hop, branches: &[Branch]) -> crate::sim::trace::Log {
    let mut log = hop.log.clone();
    let likeliest = branches.iter().max_by(|a, b| a.weight.unwrap_or(0.0).total_cmp(&b.weight.unwrap_or(0.0)));
    if let (true, Some(branch)) = (log.details.is_empty(), likeliest) {
        let own = matches!(branch.end.kind, Kind::TlsMismatch);
        log.code = branch.end.code;
        log.details = if own { branch.end.details.clone() } else { "via_upstream".to_owned() };
        log.flags = if own { branch.end.flags.clone() } else { Vec::new() };
    }
    log
}

fn server_log(hop: &Hop, branches: &[Branch]) -> crate::sim::trace::Log {
    let mut log = hop.log.clone();
    if let Some(branch) = branches.first() {
        log.code = branch.end.code;
        log.details.clone_from(&branch.end.details);
        log.flags.clone_from(&branch.end.flags);
    }
    log
}
