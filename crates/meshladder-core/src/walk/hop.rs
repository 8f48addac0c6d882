//! One proxy: from the connection it accepts to the ways it leaves.

use std::net::IpAddr;

use super::proxy::Proxy;
use crate::doc::json::Raw;
use crate::sim::chain::{self, Found};
use crate::sim::listener::{Accepted, Side};
use crate::sim::network::{NetworkFilter, NetworkFilters, Outcome};
use crate::sim::rbac::{Decision, PolicyName, RbacFilter, details, policy_in};
use crate::sim::request::Request;
use crate::sim::state::{Caller, State};
use crate::sim::tls::{Handshake, Transport};
use crate::sim::trace::{At, Branch, DryRun, End, Hop, Kind, Step};
use crate::sim::{Answer, Record, Tri};
use crate::time::Time;

mod cluster;
mod http;

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

impl Proxy<'_> {
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
        let mut policies = self.record();
        let mut dry_run = Vec::new();
        let allows = |filter: &NetworkFilter<'_>| {
            let Some(config) = filter.config else { return Tri::Yes };
            let mut state = State { caller: caller.clone(), ..State::tcp(request) };
            let outcome = RbacFilter::compile(config).evaluate(&mut state, &mut policies);
            dry_run.extend(DryRun::of(&outcome));
            match outcome.enforced {
                Some(Decision::Denied { policy, .. }) => {
                    denial.get_or_insert((policy, filter.at));
                    Tri::No
                }
                Some(Decision::Undecided { fact }) => Tri::Unknown(fact),
                Some(Decision::Allowed { .. }) | None => Tri::Yes,
            }
        };
        let outcome = filters.evaluate(sni, allows, &mut record);
        record.considered.append(&mut policies.considered);
        self.hop.dry_run.append(&mut dry_run);
        match outcome {
            Outcome::Http(manager) => {
                let Some(config) = manager.config else {
                    return vec![Way::end(End::undecided("the connection manager's configuration"))];
                };
                self.http(config, request, caller, original)
            }
            Outcome::Tcp(tcp) => {
                self.step("network", tcp.filter.name.to_string(), record, Some(tcp.filter.at));
                let denied = tcp.denied.map(|_| Self::denied(denial.as_ref()));
                self.hop.clusters = tcp
                    .branches
                    .iter()
                    .map(|b| (b.cluster.to_string(), (b.total > b.weight).then_some(b.weight)))
                    .collect();
                let mut ways = Vec::new();
                for branch in &tcp.branches {
                    #[expect(clippy::cast_precision_loss, reason = "weights are small numbers")]
                    let share = branch.weight as f64 / branch.total.max(1) as f64;
                    let more = self.cluster(&branch.cluster, request, original, true, 503, false);
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
            Outcome::Denied(filter) => {
                self.step("network", filter.name.to_string(), record, Some(filter.at));
                vec![Way::end(Self::denied(denial.as_ref()))]
            }
            Outcome::Answered(filter) => {
                vec![Way::end(End::new(Kind::Answered, 0, "", format!("the filter {} answers by itself", filter.name)))]
            }
            Outcome::Nothing => vec![Way::end(End::new(Kind::Reset, 0, "", "no network filter takes the connection"))],
            Outcome::Undecided(fact) => vec![Way::end(End::undecided(&fact))],
        }
    }

    /// A connection that network RBAC closes.
    fn denied(denial: Option<&(Option<Box<str>>, usize)>) -> End {
        let policy = denial.and_then(|(policy, _)| policy.as_deref());
        End::new(Kind::Denied, 0, details(policy), because_of(policy)).by(by(policy))
    }
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
