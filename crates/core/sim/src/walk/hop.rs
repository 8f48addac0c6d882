//! One proxy: from the connection it accepts to the ways it leaves.

use std::net::IpAddr;
use std::rc::Rc;

use super::proxy::Proxy;
use super::{Detail, object, wire};
use crate::chain::{self, ChainChoice};
use crate::inspect::InspectedConnection;
use crate::listener::{ListenerOutcome, TrafficDirection};
use crate::rbac::PolicyName;
use crate::rbac::policy_in;
use crate::request::Request;
use crate::state::Peer;
use crate::tls::Handshake;
use crate::trace::{At, Branch, End, EndKind, Hop, HopDirection, Step, StepOutcome, TraceStage};
use crate::{Answer, DecisionRecord};
use meshladder_text::time::Time;

mod cluster;
mod http;
mod network;
mod routed;

/// One way out of a hop.
pub(super) struct Way {
    pub(super) weight: Option<f64>,
    pub(super) cluster: Option<Rc<str>>,
    pub(super) endpoint: Option<(IpAddr, u16)>,
    pub(super) flags: Vec<&'static str>,
    pub(super) next: Next,
}

/// What comes then.
pub(super) enum Next {
    End(End),
    Forward(Forward),
}

/// A request on the wire to another pod.
pub(super) struct Forward {
    pub(super) sent: Rc<Sent>,
    /// The address it is sent to.
    pub(super) destination: (IpAddr, u16),
    /// The waypoint that a tunnel goes to first.
    pub(super) waypoint: Option<(IpAddr, u16)>,
    /// The id of the cluster that the endpoint is of, where that is another than the proxy's own.
    pub(super) elsewhere: Option<Box<str>>,
}

/// What is sent, shared by all endpoints that are talked to in the same way.
pub(super) struct Sent {
    /// The request as it leaves, on the connection that it leaves on.
    pub(super) request: Request,
    /// Whether the proxies treat it as bytes.
    pub(super) is_tcp: bool,
    /// The fact that is missing to tell its path or authority.
    pub(super) unknown: Option<Box<str>>,
    /// The identity at the near end of a tunnel; none when it is not sent through one.
    pub(super) tunnel: Option<String>,
}

impl Forward {
    /// The request as the next proxy gets it.
    pub(super) fn arrived(&self) -> Request {
        let mut request = self.sent.request.clone();
        request.connection.destination = self.destination;
        request
    }
}

impl Way {
    fn end(end: End) -> Self {
        Self {
            weight: Some(1.0),
            cluster: None,
            endpoint: None,
            flags: Vec::new(),
            next: Next::End(end),
        }
    }

    /// Behind the server's proxy is only the application.
    pub(super) fn into_branch(self) -> Branch {
        let end = match self.next {
            Next::End(end) => end,
            Next::Forward(_) => End::new(
                EndKind::Forwarded,
                200,
                "via_upstream",
                "it reaches the application",
            ),
        };
        branch(self.weight, self.cluster.as_deref(), self.endpoint, end)
    }
}

/// A way that has come to its end.
pub(super) fn branch(
    weight: Option<f64>,
    cluster: Option<&str>,
    endpoint: Option<(IpAddr, u16)>,
    end: End,
) -> Branch {
    Branch {
        weight,
        cluster: cluster.map(str::to_owned),
        endpoint,
        end,
    }
}

/// One walk through one proxy.
struct Crossing<'p, 'a> {
    proxy: &'p Proxy<'a>,
    now: Option<Time>,
    detail: Detail,
    inbound: bool,
    /// Whether the filter `istio.alpn` says which HTTP a request is.
    says_http: bool,
    hop: Hop,
}

impl Proxy<'_> {
    /// A connection that the pod's own application makes.
    pub(super) fn outbound(
        &self,
        request: &Request,
        is_tcp: bool,
        now: Option<Time>,
        detail: Detail,
    ) -> (Hop, Vec<Way>) {
        Crossing::new(self, HopDirection::Outbound, now, detail).cross(
            TrafficDirection::Outbound,
            request,
            is_tcp,
        )
    }

    /// A connection from another pod.
    pub(super) fn inbound(
        &self,
        request: &Request,
        is_tcp: bool,
        now: Option<Time>,
        detail: Detail,
    ) -> (Hop, Vec<Way>) {
        Crossing::new(self, HopDirection::Inbound, now, detail).cross(
            TrafficDirection::Inbound,
            request,
            is_tcp,
        )
    }

    /// A connection out of a tunnel to a waypoint, from whom the tunnel's certificate says.
    pub(super) fn waypoint(
        &self,
        request: &Request,
        identity: &str,
        now: Option<Time>,
        detail: Detail,
    ) -> (Hop, Vec<Way>) {
        let mut crossing = Crossing::new(self, HopDirection::Gateway, now, detail);
        let ways = crossing.leave_tunnel(request, identity);
        (crossing.hop, ways)
    }

    /// A connection from outside the mesh to a gateway.
    pub(super) fn gateway(
        &self,
        request: &Request,
        now: Option<Time>,
        detail: Detail,
    ) -> (Hop, Vec<Way>) {
        Crossing::new(self, HopDirection::Gateway, now, detail).cross(
            TrafficDirection::Inbound,
            request,
            false,
        )
    }
}

impl<'p, 'a> Crossing<'p, 'a> {
    fn new(
        proxy: &'p Proxy<'a>,
        direction: HopDirection,
        now: Option<Time>,
        detail: Detail,
    ) -> Self {
        let hop = Hop {
            proxy: proxy.id.clone(),
            direction,
            ..Hop::default()
        };
        Self {
            proxy,
            now,
            detail,
            inbound: direction == HopDirection::Inbound,
            says_http: false,
            hop,
        }
    }

    fn record(&self) -> DecisionRecord {
        if self.detail == Detail::Losers {
            DecisionRecord::keeping()
        } else {
            DecisionRecord::dropping()
        }
    }

    fn step(
        &mut self,
        stage: TraceStage,
        outcome: StepOutcome,
        chosen: impl FnOnce() -> String,
        record: DecisionRecord,
        at: Option<usize>,
    ) {
        if self.detail < Detail::Steps {
            return;
        }
        let evidence = at
            .map(|offset| At {
                doc: self.proxy.doc.clone(),
                offset,
            })
            .into_iter()
            .collect();
        let considered = record.considered;
        self.hop.steps.push(Step {
            stage,
            outcome,
            chosen: chosen(),
            considered,
            evidence,
            object: None,
        });
    }

    /// Writes down what only a detailed walk shows.
    fn note(&mut self, note: impl FnOnce(&mut Hop)) {
        if self.detail >= Detail::Steps {
            note(&mut self.hop);
        }
    }

    /// The Istio object behind the last step.
    fn object(&mut self, object: impl FnOnce() -> Option<String>) {
        if self.detail >= Detail::Steps
            && let Some(step) = self.hop.steps.last_mut()
        {
            step.object = object();
        }
    }

    fn cross(mut self, side: TrafficDirection, request: &Request, is_tcp: bool) -> (Hop, Vec<Way>) {
        let ways = self.accept(side, request, is_tcp);
        (self.hop, ways)
    }

    /// The way of a connection that the proxy is kept from. Mutual TLS that no proxy takes off the
    /// wire reaches the application as it is.
    fn uncaptured(&self, request: &Request, is_tcp: bool) -> Way {
        let destination = request.connection.destination;
        let tls = request.connection.tls.as_ref();
        if self.inbound && tls.is_some_and(|tls| tls.peer.is_some()) {
            return Way::end(wire::without_proxy(destination, true));
        }
        let sent = Rc::new(Sent {
            request: request.clone(),
            is_tcp,
            unknown: None,
            tunnel: None,
        });
        let forward = Forward {
            sent,
            destination,
            waypoint: None,
            elsewhere: None,
        };
        Way {
            next: Next::Forward(forward),
            ..Way::end(End::undecided(""))
        }
    }

    fn accept(&mut self, side: TrafficDirection, request: &Request, is_tcp: bool) -> Vec<Way> {
        let proxy = self.proxy;
        let connection = &request.connection;
        let mut record = self.record();
        let taken = match proxy.listeners.accept(side, connection, &mut record) {
            ListenerOutcome::Taken(taken) => taken,
            ListenerOutcome::NotCaptured(why) => {
                self.step(
                    TraceStage::Listener,
                    StepOutcome::GoesOn,
                    || format!("none: {why}"),
                    record,
                    None,
                );
                return vec![self.uncaptured(request, is_tcp)];
            }
            ListenerOutcome::NoListener => {
                self.step(
                    TraceStage::Listener,
                    StepOutcome::Ended,
                    || "none".to_owned(),
                    record,
                    None,
                );
                return vec![Way::end(End::new(
                    EndKind::NoListener,
                    0,
                    "",
                    "no listener takes the connection",
                ))];
            }
        };
        let listener = taken.listener;
        self.note(|hop| hop.listener = Some(listener.name.to_string()));
        let words = || format!("{}: {}", listener.name, taken.how.words());
        self.step(
            TraceStage::Listener,
            StepOutcome::GoesOn,
            words,
            record,
            Some(listener.at),
        );
        self.object(|| object::of(listener.raw));
        let mut record = self.record();
        let chain = match taken.chain(connection, &mut record) {
            ChainChoice::Chain(chain) => chain,
            ChainChoice::None => {
                self.step(
                    TraceStage::FilterChain,
                    StepOutcome::Ended,
                    || "none".to_owned(),
                    record,
                    Some(listener.at),
                );
                let because = format!("no filter chain of {} takes the connection", listener.name);
                return vec![Way::end(
                    End::new(EndKind::Reset, 0, chain::NOT_FOUND, because).flag("NR"),
                )];
            }
            ChainChoice::Undecided(fact) => {
                self.step(
                    TraceStage::FilterChain,
                    StepOutcome::Undecided,
                    || format!("it depends on {fact}"),
                    record,
                    Some(listener.at),
                );
                return vec![Way::end(End::undecided(&fact))];
            }
        };
        self.note(|hop| {
            hop.filter_chain = (!chain.name.is_empty()).then(|| chain.name.to_string());
        });
        self.step(
            TraceStage::FilterChain,
            StepOutcome::GoesOn,
            || listener.chains.label(chain),
            record,
            Some(chain.at),
        );
        self.object(|| object::of(chain.raw));
        let inside = proxy.inside(chain);
        let caller = match inside.transport.accept(connection, &proxy.secrets) {
            Handshake::Plain { .. } => Peer::Plain,
            Handshake::Terminated { peer, .. } => Peer::Tls(peer.unwrap_or_default().to_vec()),
            Handshake::Failed { why, .. } => {
                self.step(
                    TraceStage::Tls,
                    StepOutcome::Ended,
                    || why.clone(),
                    DecisionRecord::dropping(),
                    Some(chain.at),
                );
                return vec![Way::end(End::new(EndKind::TlsMismatch, 0, "", why))];
            }
            Handshake::Unknown(fact) => {
                self.step(
                    TraceStage::Tls,
                    StepOutcome::Undecided,
                    || format!("it depends on {fact}"),
                    DecisionRecord::dropping(),
                    Some(chain.at),
                );
                return vec![Way::end(End::undecided(&fact))];
            }
        };
        let original = taken.is_restored().then_some(connection.destination);
        self.network(&inside, request, caller, original)
    }
}

/// The listener of a waypoint that takes what its tunnels carry.
const MAIN_INTERNAL: &str = "main_internal";

impl Crossing<'_, '_> {
    /// Behind the end of a tunnel the address that it was asked to lead to names the chain.
    fn leave_tunnel(&mut self, request: &Request, identity: &str) -> Vec<Way> {
        let proxy = self.proxy;
        let connection = &request.connection;
        let Some(listener) = proxy.listeners.find(MAIN_INTERNAL) else {
            let fact = format!("the listener {MAIN_INTERNAL} of {}", proxy.id);
            return vec![Way::end(End::undecided(&fact))];
        };
        self.note(|hop| hop.listener = Some(listener.name.to_string()));
        self.step(
            TraceStage::Listener,
            StepOutcome::GoesOn,
            || format!("{MAIN_INTERNAL}: takes what tunnels carry"),
            DecisionRecord::dropping(),
            Some(listener.at),
        );
        let mut record = self.record();
        let unseen = InspectedConnection::unseen(connection);
        let seen = listener
            .filters
            .inspect(connection, connection.destination.1, unseen);
        let choice = match seen {
            Ok(seen) => listener.chains.find(&seen, &mut record),
            Err(fact) => ChainChoice::Undecided(fact),
        };
        let chain = match choice {
            ChainChoice::Chain(chain) => chain,
            ChainChoice::None => {
                let (address, port) = connection.destination;
                let because = format!("the waypoint has no chain for {address}:{port}");
                let why = because.clone();
                self.step(
                    TraceStage::FilterChain,
                    StepOutcome::Ended,
                    || why,
                    record,
                    Some(listener.at),
                );
                let end = End::new(EndKind::Reset, 0, chain::NOT_FOUND, because).flag("NR");
                return vec![Way::end(end)];
            }
            ChainChoice::Undecided(fact) => return vec![Way::end(End::undecided(&fact))],
        };
        self.note(|hop| hop.filter_chain = Some(chain.name.to_string()));
        self.step(
            TraceStage::FilterChain,
            StepOutcome::GoesOn,
            || listener.chains.label(chain),
            record,
            Some(chain.at),
        );
        let inside = proxy.inside(chain);
        let caller = Peer::Tls(vec![identity.to_owned()]);
        self.network(&inside, request, caller, Some(connection.destination))
    }
}

fn answered(answer: &Answer, because: String) -> End {
    let kind = match (answer.details.as_str(), answer.flags.first()) {
        (d, _) if d.starts_with("rbac_") || d.starts_with("jwt_") || d.starts_with("ext_authz") => {
            EndKind::Denied
        }
        (_, Some(&"NR")) => EndKind::NoRoute,
        (_, Some(&"NC")) => EndKind::NoCluster,
        (_, Some(&"UH")) => EndKind::NoEndpoints,
        _ => EndKind::Answered,
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

/// A share of a whole.
#[expect(clippy::cast_precision_loss, reason = "weights are small numbers")]
fn share(part: u64, total: u64) -> f64 {
    if total == 0 {
        1.0
    } else {
        part as f64 / total as f64
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
