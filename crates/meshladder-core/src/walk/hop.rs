//! One proxy: from the connection it accepts to the ways it leaves.

use std::net::IpAddr;

use super::proxy::Proxy;
use crate::doc::json::Raw;
use crate::envoy::clusters::Address;
use crate::sim::chain::{self, Found};
use crate::sim::cluster::{Cluster, Health, Mode, Protocol, Selected};
use crate::sim::filters::{Environment, FilterChain, Overrides, Upstream, Verdict};
use crate::sim::listener::{Accepted, Side};
use crate::sim::network::{NetworkFilter, NetworkFilters, Outcome};
use crate::sim::path::{BeforeRouting, Entered};
use crate::sim::rbac::{Decision, PolicyName, RbacFilter, details};
use crate::sim::request::{Request, Tls};
use crate::sim::route::{Action, RouteDecision, RouteTable, Routed, Target};
use crate::sim::state::{Caller, State};
use crate::sim::tls::{Handshake, Transport};
use crate::sim::trace::{At, Branch, End, EndpointFact, Hop, Kind, Step};
use crate::sim::{Answer, Record, Tri};
use crate::time::Time;

/// One way out of a hop.
pub(super) struct Way {
    pub(super) weight: Option<f64>,
    pub(super) cluster: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) flags: Vec<&'static str>,
    pub(super) next: Next,
}

/// What comes then.
pub(super) enum Next {
    End(End),
    Forward(Box<Forward>),
}

/// A request on the wire to another pod.
pub(super) struct Forward {
    pub(super) request: Request,
    /// Whether the proxies treat it as bytes.
    pub(super) is_tcp: bool,
}

impl Way {
    fn end(end: End) -> Self {
        Self { weight: Some(1.0), cluster: None, endpoint: None, flags: Vec::new(), next: Next::End(end) }
    }

    /// Behind the server's proxy is only the application.
    pub(super) fn into_branch(self) -> Branch {
        let end = match self.next {
            Next::End(end) => end,
            Next::Forward(_) => End::new(Kind::Forwarded, 200, "via_upstream", "it reaches the application"),
        };
        Branch { weight: self.weight, cluster: self.cluster, endpoint: self.endpoint, end }
    }
}

/// One walk through one proxy.
struct Crossing<'p, 'a> {
    proxy: &'p Proxy<'a>,
    now: Option<Time>,
    keep: bool,
    inbound: bool,
    /// Whether the filter `istio.alpn` says which HTTP a request is.
    says_http: bool,
    hop: Hop,
}

impl<'a> Proxy<'a> {
    /// A connection that the pod's own application makes.
    pub(super) fn outbound(&self, request: &Request, is_tcp: bool, now: Option<Time>, keep: bool) -> (Hop, Vec<Way>) {
        Crossing::new(self, "outbound", now, keep).cross(Side::Outbound, request, is_tcp)
    }

    /// A connection from another pod.
    pub(super) fn inbound(&self, request: &Request, is_tcp: bool, now: Option<Time>, keep: bool) -> (Hop, Vec<Way>) {
        Crossing::new(self, "inbound", now, keep).cross(Side::Inbound, request, is_tcp)
    }

    /// A connection from outside the mesh to a gateway.
    pub(super) fn gateway(&self, request: &Request, now: Option<Time>, keep: bool) -> (Hop, Vec<Way>) {
        Crossing::new(self, "gateway", now, keep).cross(Side::Inbound, request, false)
    }
}

impl<'p, 'a> Crossing<'p, 'a> {
    fn new(proxy: &'p Proxy<'a>, direction: &'static str, now: Option<Time>, keep: bool) -> Self {
        let hop = Hop { proxy: proxy.name.clone(), direction, tls: "none", ..Hop::default() };
        Self { proxy, now, keep, inbound: direction == "inbound", says_http: false, hop }
    }

    fn record(&self) -> Record {
        if self.keep { Record::keeping() } else { Record::dropping() }
    }

    fn step(&mut self, stage: &'static str, chosen: impl Into<String>, record: Record, at: Option<usize>) {
        let evidence = at.map(|offset| At { doc: self.proxy.doc.clone(), offset }).into_iter().collect();
        self.hop.steps.push(Step {
            stage,
            chosen: chosen.into(),
            considered: record.considered,
            evidence,
            object: None,
        });
    }

    fn object(&mut self, object: Option<String>) {
        if let Some(step) = self.hop.steps.last_mut() {
            step.object = object;
        }
    }

    fn cross(mut self, side: Side, request: &Request, is_tcp: bool) -> (Hop, Vec<Way>) {
        let ways = self.accept(side, request, is_tcp);
        (self.hop, ways)
    }

    fn accept(&mut self, side: Side, request: &Request, is_tcp: bool) -> Vec<Way> {
        let proxy = self.proxy;
        let connection = &request.connection;
        let mut record = self.record();
        let taken = match proxy.listeners.accept(side, connection, &mut record) {
            Accepted::Taken(taken) => taken,
            Accepted::NotCaptured(why) => {
                self.step("listener", format!("none: {why}"), record, None);
                return vec![Way {
                    next: Next::Forward(Box::new(Forward { request: request.clone(), is_tcp })),
                    ..Way::end(End::undecided(""))
                }];
            }
            Accepted::NoListener => {
                self.step("listener", "none", record, None);
                return vec![Way::end(End::new(Kind::NoListener, 0, "", "no listener takes the connection"))];
            }
        };
        self.hop.listener = Some(taken.listener.name.to_string());
        self.step(
            "listener",
            format!("{}: {}", taken.listener.name, taken.how.words()),
            record,
            Some(taken.listener.at),
        );
        let mut record = self.record();
        let chain = match taken.chain(connection, &mut record) {
            Found::Chain(chain) => chain,
            Found::None => {
                self.step("filter-chain", "none", record, Some(taken.listener.at));
                let because = format!("no filter chain of {} takes the connection", taken.listener.name);
                return vec![Way::end(End::new(Kind::Reset, 0, chain::NOT_FOUND, because).flag("NR"))];
            }
            Found::Undecided(fact) => return vec![Way::end(End::undecided(&fact))],
        };
        self.hop.filter_chain = Some(chain.name.to_string());
        self.step("filter-chain", chain.name.to_string(), record, Some(chain.at));
        let transport = Transport::compile(chain.raw.get("transport_socket"));
        let caller = match transport.accept(connection, &proxy.secrets) {
            Handshake::Plain { .. } => Caller::Plain,
            Handshake::Terminated { peer, .. } => Caller::Tls(peer.unwrap_or_default().to_vec()),
            Handshake::Failed { why, .. } => {
                return vec![Way::end(End::new(Kind::TlsMismatch, 0, "", why))];
            }
            Handshake::Unknown(fact) => return vec![Way::end(End::undecided(&fact))],
        };
        let original = taken.is_restored().then_some(connection.destination);
        self.network(chain.raw, request, caller, original)
    }

    fn network(
        &mut self,
        chain: Raw<'a>,
        request: &Request,
        caller: Caller,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let filters = NetworkFilters::compile(chain);
        let sni = request.connection.tls.as_ref().and_then(|tls| tls.sni.as_deref()).unwrap_or_default();
        let mut denial = None;
        let mut record = self.record();
        let allows = |filter: &NetworkFilter<'_>| {
            let Some(config) = filter.config else { return Tri::Yes };
            let mut state = State { caller: caller.clone(), ..State::tcp(request) };
            match RbacFilter::compile(config).evaluate(&mut state, &mut Record::dropping()).enforced {
                Some(Decision::Denied { policy, .. }) => {
                    denial.get_or_insert((policy, filter.at));
                    Tri::No
                }
                Some(Decision::Undecided { fact }) => Tri::Unknown(fact),
                Some(Decision::Allowed { .. }) | None => Tri::Yes,
            }
        };
        let outcome = filters.evaluate(sni, allows, &mut record);
        match outcome {
            Outcome::Http(manager) => {
                let Some(config) = manager.config else {
                    return vec![Way::end(End::undecided("the connection manager's configuration"))];
                };
                self.http(config, request, caller, original)
            }
            Outcome::Tcp(tcp) => {
                self.step("network", tcp.filter.name.to_string(), record, Some(tcp.filter.at));
                let denied = tcp.denied.map(|_| self.denied(denial.as_ref()));
                self.hop.clusters = tcp
                    .branches
                    .iter()
                    .map(|b| (b.cluster.to_string(), (b.total > b.weight).then_some(b.weight)))
                    .collect();
                let mut ways = Vec::new();
                for branch in &tcp.branches {
                    #[expect(clippy::cast_precision_loss, reason = "weights are small numbers")]
                    let share = branch.weight as f64 / branch.total.max(1) as f64;
                    let more = self.to_cluster(&branch.cluster, request, original, true, 503, false);
                    ways.extend(more.into_iter().map(|way| {
                        let goes_on = match &way.next {
                            Next::Forward(_) => true,
                            Next::End(end) => end.kind == Kind::Forwarded,
                        };
                        let next = match &denied {
                            Some(end) if goes_on => Next::End(end.clone()),
                            _ => way.next,
                        };
                        Way {
                            weight: way.weight.map(|w| w * share),
                            cluster: Some(branch.cluster.to_string()),
                            next,
                            ..way
                        }
                    }));
                }
                ways
            }
            Outcome::Denied(_) => vec![Way::end(self.denied(denial.as_ref()))],
            Outcome::Answered(filter) => {
                vec![Way::end(End::new(Kind::Answered, 0, "", format!("the filter {} answers by itself", filter.name)))]
            }
            Outcome::Nothing => vec![Way::end(End::new(Kind::Reset, 0, "", "no network filter takes the connection"))],
            Outcome::Undecided(fact) => vec![Way::end(End::undecided(&fact))],
        }
    }

    /// A connection that network RBAC closes.
    fn denied(&self, denial: Option<&(Option<Box<str>>, usize)>) -> End {
        let policy = denial.and_then(|(policy, _)| policy.as_deref());
        End::new(Kind::Denied, 0, details(policy), because_of(policy)).by(by(policy))
    }

    fn http(
        &mut self,
        manager: Raw<'a>,
        request: &Request,
        caller: Caller,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let proxy = self.proxy;
        let before = BeforeRouting::compile(manager, &proxy.runtime);
        let entered = match before.enter(request) {
            Entered::Request(request) => request,
            Entered::Answered { answer, location } => {
                let because = location
                    .map_or("the connection manager answers".to_owned(), |l| format!("the client is sent to {l}"));
                return vec![Way::end(answered(&answer, because))];
            }
        };
        let config = manager.get("route_config").or_else(|| {
            let name = manager.at(["rds", "route_config_name"])?.string()?;
            proxy.route_config(&name)
        });
        let Some(config) = config else {
            let answer = Answer::new(&entered, 404, &["NR"], "route_not_found");
            return vec![Way::end(answered(&answer, "the proxy does not have the route configuration".to_owned()))];
        };
        let table = RouteTable::compile(config, &proxy.runtime);
        self.hop.route_config = Some(table.name.to_string());
        let mut record = self.record();
        let mut state = State { caller, ..State::new(&entered) };
        let routed = table.route(&state, &mut record);
        self.routed(&routed, &entered, record, table.raw.offset());
        let chain = FilterChain::compile(manager, &proxy.runtime, &|name| proxy.extension(name));
        self.says_http = chain.filters().iter().any(|filter| filter.name == "istio.alpn");
        self.filters(&chain, &routed, &mut state, original)
    }

    fn routed(&mut self, routed: &Routed<'_, 'a>, request: &Request, record: Record, at: usize) {
        match routed {
            Routed::Route(decision) => {
                self.hop.virtual_host = Some(decision.virtual_host.name.to_string());
                self.hop.route = (!decision.route.name.is_empty()).then(|| decision.route.name.to_string());
                let chosen = format!("{} › {}", decision.virtual_host.name, decision.route.name);
                self.step("route", chosen, record, Some(decision.route.raw.offset()));
                self.object(decision.route.istio_config.as_ref().map(|config| format!("VirtualService {config}")));
            }
            Routed::RequireTls { virtual_host, .. } => {
                self.hop.virtual_host = Some(virtual_host.name.to_string());
                self.step("route", "the client is sent to https", record, Some(virtual_host.raw.offset()));
            }
            Routed::NoRoute { virtual_host } => {
                self.hop.virtual_host = virtual_host.map(|v| v.name.to_string());
                self.step("route", format!("none for {}{}", request.authority, request.path), record, Some(at));
            }
            Routed::Undecided { virtual_host, fact, .. } => {
                self.hop.virtual_host = virtual_host.map(|v| v.name.to_string());
                self.step("route", format!("it depends on {fact}"), record, Some(at));
            }
            Routed::Branches(_) => self.step("route", "chance decides", record, Some(at)),
        }
    }

    fn filters(
        &mut self,
        chain: &FilterChain<'a>,
        routed: &Routed<'_, 'a>,
        state: &mut State<'_>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let decision = if let Routed::Route(decision) = routed { Some(decision) } else { None };
        let branch = decision.and_then(|d| if let Target::Clusters(all) = &d.target { all.first() } else { None });
        if let Some(Target::Clusters(branches)) = decision.map(|decision| &decision.target) {
            let weight = |weight: u64| (branches.len() > 1).then_some(weight);
            self.hop.clusters = branches.iter().map(|b| (b.cluster.to_string(), weight(b.weight))).collect();
        }
        let scopes = decision.map(|decision| decision.scopes(branch)).unwrap_or_default();
        let overrides = Overrides::compile(&scopes, &self.proxy.runtime);
        let cluster = decision.and_then(|d| match &d.target {
            Target::Clusters(branches) if branches.len() == 1 => Some(branches[0].cluster.to_string()),
            _ => None,
        });
        let clusters = &self.proxy.clusters;
        let upstream = |name: &str| match clusters.find(name) {
            None => Upstream::Missing,
            Some(cluster) => match cluster.select(None, &mut Record::dropping()) {
                Selected::Endpoints { .. } | Selected::Original(..) => Upstream::Usable,
                Selected::None(_) => Upstream::Unhealthy,
                Selected::Unknown(fact) => Upstream::Unknown(fact),
            },
        };
        let Some(now) = self.now else { return vec![Way::end(End::undecided("when the Snapshot was taken"))] };
        let environment = Environment { now, upstream: &upstream, cluster: cluster.as_deref() };
        let mut record = self.record();
        let walk = chain.evaluate(&overrides, state, &environment, &mut record);
        let mut denied_by = None;
        for step in &walk.steps {
            let word = match &step.verdict {
                Verdict::Passed(why) => format!("{}: {why}", step.filter),
                Verdict::Rbac(_) => format!("{}: lets it pass", step.filter),
                Verdict::Skipped(_) => continue,
                Verdict::Answered(answer, _) => {
                    denied_by = policy_in(&answer.details).map(str::to_owned);
                    format!("{}: answers {} {}", step.filter, answer.code, answer.details)
                }
                Verdict::Branches(_) => format!("{}: chance or load decides", step.filter),
                Verdict::Undecided(fact) => format!("{}: it depends on {fact}", step.filter),
            };
            self.step("filter", word, Record::dropping(), Some(step.at));
        }
        if self.keep
            && let Some(step) = self.hop.steps.last_mut()
        {
            step.considered.extend(record.considered);
        }
        if let Some(fact) = &walk.undecided {
            return vec![Way::end(End::undecided(fact))];
        }
        let mut ways = Vec::new();
        for branch in &walk.branches {
            if let Some(answer) = &branch.answer {
                let mut end = answered(answer, because_answered(answer));
                if let Some(policy) = &denied_by {
                    end = end.by(by(Some(policy)));
                }
                ways.push(Way { weight: branch.weight, flags: branch.flags.clone(), ..Way::end(end) });
                continue;
            }
            let more = self.route_on(routed, &state.request, original);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.zip(branch.weight).map(|(a, b)| a * b),
                flags: branch.flags.clone(),
                ..way
            }));
        }
        ways
    }

    /// Behind the filters: where the route leads.
    fn route_on(&mut self, routed: &Routed<'_, 'a>, request: &Request, original: Option<(IpAddr, u16)>) -> Vec<Way> {
        if let Some((answer, location)) = routed.answer(request) {
            let because = match (routed, location) {
                (_, Some(location)) => format!("the client is sent to {location}"),
                (Routed::NoRoute { virtual_host: None }, _) => format!("no virtual host is for {}", request.authority),
                (Routed::NoRoute { .. }, _) => format!("no route matches {} {}", request.method, request.path),
                _ => "the route answers by itself".to_owned(),
            };
            return vec![Way::end(answered(&answer, because))];
        }
        match routed {
            Routed::Route(decision) => self.to_clusters(decision, request, original),
            Routed::Undecided { fact, .. } => vec![Way::end(End::undecided(fact))],
            Routed::Branches(branches) => branches
                .iter()
                .flat_map(|(share, routed)| {
                    #[expect(clippy::cast_precision_loss, reason = "fractions are of at most a million")]
                    let part = share.of as f64 / share.total.max(1) as f64;
                    let ways = self.route_on(routed, request, original);
                    ways.into_iter()
                        .map(move |way| Way { weight: way.weight.map(|w| w * part), ..way })
                        .collect::<Vec<_>>()
                })
                .collect(),
            Routed::NoRoute { .. } | Routed::RequireTls { .. } => Vec::new(),
        }
    }

    fn to_clusters(
        &mut self,
        decision: &RouteDecision<'_, 'a>,
        request: &Request,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let Target::Clusters(branches) = &decision.target else { return Vec::new() };
        let total: u64 = branches.iter().map(|branch| branch.weight).sum();
        let code = if let Action::Route(action) = &decision.route.action {
            action.cluster_not_found_response_code
        } else {
            503
        };
        let mut ways = Vec::new();
        for branch in branches {
            let rewritten = decision.rewritten(branch, request);
            let mut forwarded = request.clone();
            if let (Ok(path), Ok(authority)) = (rewritten.path, rewritten.authority) {
                (forwarded.path, forwarded.authority) = (path, authority);
            }
            #[expect(clippy::cast_precision_loss, reason = "weights are small numbers")]
            let share = if total == 0 { 1.0 } else { branch.weight as f64 / total as f64 };
            let more = self.to_cluster(&branch.cluster, &forwarded, original, false, code, true);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.map(|w| w * share),
                cluster: Some(branch.cluster.to_string()),
                ..way
            }));
        }
        ways
    }

    fn to_cluster(
        &mut self,
        name: &str,
        request: &Request,
        original: Option<(IpAddr, u16)>,
        is_tcp: bool,
        code: u16,
        is_http: bool,
    ) -> Vec<Way> {
        let proxy = self.proxy;
        let Some(cluster) = proxy.clusters.find(name) else {
            let end = if is_http {
                answered(
                    &Answer::new(request, code, &["NC"], "cluster_not_found"),
                    format!("there is no cluster {name}"),
                )
            } else {
                End::new(Kind::NoCluster, 0, "", format!("there is no cluster {name}")).flag("NC")
            };
            return vec![Way::end(end)];
        };
        let mut record = self.record();
        let selected = cluster.select(original, &mut record);
        self.facts(cluster);
        match selected {
            Selected::None(why) => {
                self.step("endpoint", format!("none: {why}"), record, Some(cluster.at));
                let end = if is_http {
                    answered(&Answer::new(request, 503, &["UH"], "no_healthy_upstream"), format!("{name}: {why}"))
                } else {
                    End::new(Kind::NoEndpoints, 0, "", format!("{name}: {why}")).flag("UH")
                };
                vec![Way::end(end)]
            }
            Selected::Unknown(fact) => vec![Way::end(End::undecided(&fact))],
            Selected::Original(ip, port) => {
                self.step("endpoint", format!("{ip}:{port}, where the client wanted to go"), record, Some(cluster.at));
                vec![self.forward(cluster, None, (ip, port), request, is_tcp, 1.0)]
            }
            Selected::Endpoints { picks, lost } => {
                self.step("endpoint", format!("{} of {}", picks.len(), name), record, Some(cluster.at));
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a cluster has far fewer endpoints than a float has digits"
                )]
                let share = (1.0 - f64::from(lost) / 100.0) / picks.len().max(1) as f64;
                let mut ways: Vec<_> = Vec::new();
                for pick in picks {
                    let Address::Socket(host, port) = &pick.endpoint.address else {
                        ways.push(Way::end(End::new(
                            Kind::Forwarded,
                            200,
                            "via_upstream",
                            "it reaches a local socket",
                        )));
                        continue;
                    };
                    let (Ok(ip), Ok(port)) = (host.parse(), u16::try_from(*port)) else { continue };
                    ways.push(self.forward(cluster, Some(pick.endpoint), (ip, port), request, is_tcp, share));
                }
                if lost > 0 {
                    let answer = Answer::new(request, 503, &["UH"], "no_healthy_upstream");
                    let end = answered(&answer, format!("{name}: too few endpoints are healthy"));
                    ways.push(Way { weight: Some(f64::from(lost) / 100.0), ..Way::end(end) });
                }
                ways
            }
        }
    }

    fn facts(&mut self, cluster: &Cluster<'a>) {
        for endpoint in &cluster.endpoints {
            let health = match &endpoint.health {
                Health::Healthy => "HEALTHY".to_owned(),
                Health::Degraded => "DEGRADED".to_owned(),
                Health::Unhealthy(why) if why.contains("outlier") => "EJECTED".to_owned(),
                Health::Unhealthy(_) => "UNHEALTHY".to_owned(),
            };
            let (cluster, address) = (cluster.name.to_string(), endpoint.address.to_string());
            self.hop.endpoints.push(EndpointFact { cluster, address, health });
        }
    }

    fn forward(
        &mut self,
        cluster: &Cluster<'a>,
        endpoint: Option<&crate::sim::cluster::Endpoint<'a>>,
        destination: (IpAddr, u16),
        request: &Request,
        is_tcp: bool,
        weight: f64,
    ) -> Way {
        let way = |next| Way {
            weight: Some(weight),
            cluster: None,
            endpoint: Some(format!("{}:{}", destination.0, destination.1)),
            flags: Vec::new(),
            next,
        };
        if self.inbound {
            return way(Next::End(End::new(Kind::Forwarded, 200, "via_upstream", "it reaches the application")));
        }
        let transport = match cluster.transport(endpoint) {
            Ok(transport) => transport,
            Err(fact) => return way(Next::End(End::undecided(&fact))),
        };
        let mode = Mode::of(transport);
        self.hop.tls = mode.map_or("none", Mode::word);
        let mut next = request.clone();
        next.connection.destination = destination;
        next.connection.source = request.connection.source;
        if let Transport::Tls(context) = transport {
            next.connection.tls = Some(Tls {
                sni: context.sni.as_ref().map(ToString::to_string),
                alpn: protocols(cluster, context.alpn.iter().map(ToString::to_string), self.says_http && !is_tcp),
                peer: context.has_certificate.then(|| self.proxy.identity.iter().cloned().collect()),
            });
            next.connection.plain_http = None;
        }
        way(Next::Forward(Box::new(Forward { request: next, is_tcp })))
    }
}

/// "the `istio.alpn` HTTP filter overrides to `istio-http/1.0`, `istio-http/1.1`, `istio-h2` (then the plain ones)"
fn protocols(cluster: &Cluster<'_>, own: impl Iterator<Item = String>, says_http: bool) -> Vec<String> {
    let spoken: &[&str] = match cluster.protocol() {
        _ if !says_http => &[],
        Protocol::Http2 => &["istio-h2", "h2"],
        _ => &["istio-http/1.1", "http/1.1"],
    };
    if spoken.is_empty() { own.collect() } else { spoken.iter().map(ToString::to_string).collect() }
}

fn answered(answer: &Answer, because: String) -> End {
    let kind = match (answer.details.as_str(), answer.flags.first()) {
        (d, _) if d.starts_with("rbac_") || d.starts_with("jwt_") || d.starts_with("ext_authz") => Kind::Denied,
        (_, Some(&"NR")) => Kind::NoRoute,
        (_, Some(&"NC")) => Kind::NoCluster,
        (_, Some(&"UH")) => Kind::NoEndpoints,
        _ => Kind::Answered,
    };
    let mut end = End::new(kind, answer.code, answer.details.clone(), because);
    end.flags.clone_from(&answer.flags);
    end
}

fn because_answered(answer: &Answer) -> String {
    match policy_in(&answer.details) {
        Some(policy) => because_of((policy != "none").then_some(policy)),
        None => format!("a filter answers {} {}", answer.code, answer.details),
    }
}

/// The policy in `rbac_access_denied_matched_policy[…]`.
fn policy_in(details: &str) -> Option<&str> {
    details.strip_prefix("rbac_access_denied_matched_policy[")?.strip_suffix(']')
}

fn because_of(policy: Option<&str>) -> String {
    match policy {
        Some(policy) => format!("the policy {} denies it", by(Some(policy))),
        None => "no ALLOW policy matches, and there is one".to_owned(),
    }
}

fn by(policy: Option<&str>) -> String {
    match policy.map(|policy| (policy, PolicyName::parse(policy))) {
        Some((_, Some(name))) => format!("AuthorizationPolicy {}/{}", name.namespace, name.name),
        Some((policy, None)) if policy != "none" => policy.to_owned(),
        _ => "the ALLOW policies".to_owned(),
    }
}
