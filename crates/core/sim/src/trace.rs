//! What happened to one request, hop by hop and decision by decision.

use std::net::IpAddr;

use super::MatchCandidate;
use super::cluster::TlsMode;
use super::rbac::filter::RbacOutcome;
use super::rbac::{PolicyName, RbacDecision};
use meshladder_capture::snapshot::{DocId, ProxyRef};

/// The whole walk of one request.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The proxies on its way, in order: the client's, then those of each endpoint it may reach.
    pub hops: Vec<Hop>,
    /// How it ends.
    pub outcome: End,
    /// Every way it may end, when there is more than one; the first is the likeliest and equals
    /// `outcome`.
    pub branches: Vec<Branch>,
}

/// One proxy on the way.
#[derive(Clone, Debug, Default)]
pub struct Hop {
    /// The proxy.
    pub proxy: ProxyRef,
    /// The name of its cluster, when the walk is through several; its documents are that cluster's.
    pub in_cluster: Option<String>,
    /// Which way the request crosses it.
    pub direction: HopDirection,
    /// The listener's name.
    pub listener: Option<String>,
    /// The filter chain's name.
    pub filter_chain: Option<String>,
    /// The route configuration's name.
    pub route_config: Option<String>,
    /// The virtual host's name.
    pub virtual_host: Option<String>,
    /// The route's name.
    pub route: Option<String>,
    /// Where it may go, with weights where there are any.
    pub clusters: Vec<(String, Option<u64>)>,
    /// The endpoints of those clusters.
    pub endpoints: Vec<EndpointFact>,
    /// Towards the next hop.
    pub tls: TlsMode,
    /// The decisions, in order.
    pub steps: Vec<Step>,
    /// What this proxy would log.
    pub log: Log,
    /// What policies that are only tried out would have done.
    pub dry_run: Vec<DryRun>,
    /// Whether it is its node's ztunnel, which knows connections and no requests.
    pub is_ztunnel: bool,
}

/// Which way a request crosses a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HopDirection {
    /// From the pod's own application.
    #[default]
    Outbound,
    /// To the pod's own application.
    Inbound,
    /// Through a gateway, from outside the mesh.
    Gateway,
}

impl HopDirection {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Outbound => "outbound",
            Self::Inbound => "inbound",
            Self::Gateway => "gateway",
        }
    }
}

impl Trace {
    /// The hop whose Envoy sends the request on: the caller's, the gateway's or the waypoint's.
    /// None where only the server's side is looked at.
    pub fn sender(&self) -> Option<&Hop> {
        self.hops
            .iter()
            .find(|hop| !hop.is_ztunnel)
            .filter(|hop| hop.direction != HopDirection::Inbound)
    }
}

/// What the shadow rules of an RBAC filter would have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRun {
    /// Whether they would have denied the request.
    pub denies: bool,
    /// The policy that matches; none when no ALLOW policy does.
    pub policy: Option<String>,
}

impl DryRun {
    /// None when the shadow rules have nothing to say: there are none, nothing is decided, or they
    /// are those of a CUSTOM policy, which choose what a provider is asked.
    pub fn of(outcome: &RbacOutcome) -> Option<Self> {
        let (denies, policy) = match outcome.shadow.as_ref()? {
            RbacDecision::Denied { policy, .. } => (true, policy),
            RbacDecision::Allowed {
                policy: policy @ Some(_),
            } => (false, policy),
            RbacDecision::Allowed { policy: None } | RbacDecision::Undecided { .. } => return None,
        };
        let is_custom = policy
            .as_deref()
            .and_then(PolicyName::parse)
            .is_some_and(|name| name.provider.is_some());
        (!is_custom).then(|| Self {
            denies,
            policy: policy.as_deref().map(str::to_owned),
        })
    }
}

/// An endpoint as a hop sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointFact {
    /// Its cluster.
    pub cluster: String,
    /// `ip:port`, or the path of a socket.
    pub address: String,
    /// IP address and port, when it has them.
    pub socket: Option<(IpAddr, u16)>,
    /// Whether it may be picked.
    pub health: EndpointHealth,
    /// The id of its cluster, where that is another than the proxy's own.
    pub elsewhere: Option<String>,
}

impl EndpointFact {
    /// Whether an Envoy reaches it through a tunnel.
    pub fn is_tunnelled(&self) -> bool {
        self.address.starts_with("envoy://")
    }
}

/// Whether a hop may pick an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointHealth {
    /// Yes.
    Healthy,
    /// When there are not enough healthy ones.
    Degraded,
    /// No: outlier detection has ejected it.
    Ejected,
    /// No, for another reason.
    Unhealthy,
}

impl EndpointHealth {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "HEALTHY",
            Self::Degraded => "DEGRADED",
            Self::Ejected => "EJECTED",
            Self::Unhealthy => "UNHEALTHY",
        }
    }
}

/// One decision.
#[derive(Clone, Debug)]
pub struct Step {
    /// The part of the proxy that decides.
    pub stage: TraceStage,
    /// What comes of it.
    pub outcome: StepOutcome,
    /// What was decided, in words.
    pub chosen: String,
    /// The candidates.
    pub considered: Vec<MatchCandidate>,
    /// The bytes that decided it.
    pub evidence: Vec<At>,
    /// The Istio object that put it there, such as `VirtualService shop/catalog`.
    pub object: Option<String>,
}

/// The part of a proxy that a decision is made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStage {
    /// Which listener takes the connection.
    Listener,
    /// Which of its filter chains.
    FilterChain,
    /// Whether client and server agree on TLS.
    Tls,
    /// The network filters.
    Network,
    /// What the connection manager makes of host and path.
    Path,
    /// Which route.
    Route,
    /// An HTTP filter.
    Filter,
    /// Which cluster.
    Cluster,
    /// Which of its endpoints.
    Endpoint,
}

impl TraceStage {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Listener => "listener",
            Self::FilterChain => "filter-chain",
            Self::Tls => "tls",
            Self::Network => "network",
            Self::Path => "path",
            Self::Route => "route",
            Self::Filter => "filter",
            Self::Cluster => "cluster",
            Self::Endpoint => "endpoint",
        }
    }
}

/// What comes of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The request goes on.
    GoesOn,
    /// A filter answers it.
    Answered,
    /// It ends here otherwise: nothing fits, or the connection is closed.
    Ended,
    /// It cannot be told.
    Undecided,
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The document.
    pub doc: DocId,
    /// Byte offset in it.
    pub offset: usize,
}

/// A line of an access log, as far as configuration decides it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The status; 0 when no response was started.
    pub code: u16,
    /// Response flags.
    pub flags: Vec<&'static str>,
    /// Response code details.
    pub details: String,
    /// The cluster.
    pub cluster: Option<String>,
    /// The route.
    pub route: Option<String>,
}

/// What a request's end is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// It reaches the application.
    Forwarded,
    /// A policy refuses it.
    Denied,
    /// A proxy answers it: a redirect, a direct response, a fault.
    Answered,
    /// No listener takes it.
    NoListener,
    /// No route matches.
    NoRoute,
    /// The route's cluster does not exist.
    NoCluster,
    /// No endpoint can be used.
    NoEndpoints,
    /// One side speaks TLS and the other does not, or they disagree on certificates.
    TlsMismatch,
    /// The connection is closed.
    Reset,
    /// It cannot be told.
    Undecided,
}

impl EndKind {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Denied => "denied",
            Self::Answered => "answered",
            Self::NoListener => "no-listener",
            Self::NoRoute => "no-route",
            Self::NoCluster => "no-cluster",
            Self::NoEndpoints => "no-endpoints",
            Self::TlsMismatch => "tls-mismatch",
            Self::Reset => "reset",
            Self::Undecided => "undecided",
        }
    }
}

/// One way a request ends: what the hop that ended it would log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// What it is called.
    pub kind: EndKind,
    /// The status; 0 when no response was started.
    pub code: u16,
    /// Response flags.
    pub flags: Vec<&'static str>,
    /// Response code details.
    pub details: String,
    /// The object or part of the proxy that decided, such as `AuthorizationPolicy shop/payments`.
    pub by: Option<String>,
    /// Why, in one line.
    pub because: String,
    /// The bytes that decided.
    pub evidence: Vec<At>,
    /// What a ztunnel, or the want of one, has to do with it.
    pub tunnel: Option<Box<TunnelEnd>>,
    /// The name of the cluster in which it ends, when that is not the caller's.
    pub in_cluster: Option<String>,
}

/// How a request ends at a ztunnel, or for want of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelEnd {
    /// Why.
    pub why: TunnelFault,
    /// The pod whose ztunnel it is, or that has none: namespace and name.
    pub pod: (String, String),
    /// The identity that the connection came with; none for plain text.
    pub identity: Option<String>,
}

/// Why a ztunnel ends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelFault {
    /// The pod's traffic is redirected, and no ztunnel runs on its node.
    NoZtunnel,
    /// The pod's traffic is redirected, and ztunnel has not taken it over.
    NotServed,
    /// The peer is to be reached by tunnel, and is not captured.
    NotCaptured,
    /// The waypoint that is named has no endpoint: `namespace/hostname`.
    NoWaypoint(String),
    /// The Service has no endpoint, or not that port: `namespace/hostname`.
    NoEndpoint(String),
    /// A DENY policy, or one that istiod made of STRICT: namespace and name.
    Denied(String, String),
    /// There are ALLOW policies, and none matches.
    NotAllowed,
    /// ztunnel holds an address that no pod has any more.
    Stale(IpAddr),
    /// ztunnel does not know the pod.
    UnknownPod,
}

/// One of several ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its share, from 0 to 1; none when nobody can tell.
    pub weight: Option<f64>,
    /// The cluster that leads there.
    pub cluster: Option<String>,
    /// The endpoint that leads there.
    pub endpoint: Option<(IpAddr, u16)>,
    /// The end.
    pub end: End,
}

impl End {
    /// An end without flags.
    pub fn new(
        kind: EndKind,
        code: u16,
        details: impl Into<String>,
        because: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            code,
            flags: Vec::new(),
            details: details.into(),
            by: None,
            because: because.into(),
            evidence: Vec::new(),
            tunnel: None,
            in_cluster: None,
        }
    }

    /// It cannot be told without this fact.
    pub fn undecided(fact: &str) -> Self {
        Self::new(EndKind::Undecided, 0, "", fact)
    }

    /// With a response flag.
    #[must_use]
    pub fn flag(mut self, flag: &'static str) -> Self {
        self.flags.push(flag);
        self
    }

    /// With who decided.
    #[must_use]
    pub fn by(mut self, by: impl Into<String>) -> Self {
        self.by = Some(by.into());
        self
    }
}
