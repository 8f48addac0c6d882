//! Clusters: which endpoints a request may go to, and how it is sent there
//! (`envoy.config.cluster.v3.Cluster`).

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

use super::matcher::unmodelled;
use super::tls::Transport;
use super::{DecisionRecord, MatchCandidate, Tri};
use meshladder_capture::envoy::clusters::{ClusterStatuses as Statuses, HostAddress};
use meshladder_capture::envoy::dump::{Dump, ResourceState, Section};
use meshladder_text::json::Raw;

mod balance;
mod endpoint;
mod facts;
mod policy;
mod sockets;

pub use endpoint::{Endpoint, Health};
pub use facts::{Protocol, Thresholds};
pub use sockets::TlsMode;

use balance::{ClusterChoice, EndpointShare};
use policy::LbPolicy;
use sockets::Sockets;

/// The clusters of one proxy that take requests.
#[derive(Debug, Default)]
pub struct Clusters<'a> {
    /// In the order of their names.
    all: Vec<Cluster<'a>>,
    by_name: HashMap<Cow<'a, str>, usize>,
}

/// One cluster.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
    /// The `Cluster`.
    pub raw: Raw<'a>,
    /// How its endpoints are found: `EDS`, `STATIC`, `ORIGINAL_DST`, …, or the name of a custom
    /// type.
    pub discovery: Cow<'a, str>,
    /// How an endpoint is picked: `LEAST_REQUEST`, …
    pub lb_policy: Cow<'a, str>,
    /// Its endpoints; empty for clusters that have none of their own.
    pub endpoints: Vec<Endpoint<'a>>,
    sockets: Sockets<'a>,
    choice: ClusterChoice,
    /// Looked up when first asked for.
    protocol: OnceCell<Protocol>,
}

/// Where a cluster sends a request.
#[derive(Debug)]
pub enum HostSelection<'c, 'a> {
    /// To one of these endpoints.
    Endpoints {
        /// The endpoints.
        picks: Vec<EndpointPick<'c, 'a>>,
        /// Of a hundred requests, how many go nowhere: too few endpoints of their priority are
        /// healthy.
        lost: u32,
    },
    /// To the address that the client wanted to reach.
    Original(IpAddr, u16),
    /// Nowhere: `UH`, `no_healthy_upstream`.
    None(&'static str),
    /// It cannot be told without this fact.
    Unknown(Box<str>),
}

/// An endpoint that may be picked.
#[derive(Clone, Copy, Debug)]
pub struct EndpointPick<'c, 'a> {
    /// The endpoint.
    pub endpoint: &'c Endpoint<'a>,
    /// Of a hundred requests, how many go to the endpoints of its priority that are as healthy as
    /// it is.
    pub percent: u32,
    /// Whether it is picked only because too few are healthy.
    pub in_panic: bool,
}

impl<'a> Clusters<'a> {
    /// Reads the clusters of a dump that was indexed with [`Section::Clusters`] and
    /// [`Section::Endpoints`]. Those that are warming take no requests. What `/clusters` says of
    /// endpoints and their health is truer than the dump.
    pub fn compile(dump: &Dump<'a>, statuses: Option<&Statuses<'a>>) -> Self {
        let known = endpoint::KnownEndpoints::read(dump, statuses);
        // A cluster that comes twice is the one that came last.
        let mut sorted = BTreeMap::new();
        for resource in dump.of(Section::Clusters) {
            if !matches!(
                resource.state,
                ResourceState::Static | ResourceState::Active
            ) {
                continue;
            }
            let Some(raw) = resource.raw else { continue };
            if let Some(cluster) = Cluster::read(raw, &known) {
                sorted.insert(cluster.name.clone(), cluster);
            }
        }

        let mut clusters = Self::default();
        for (number, (name, cluster)) in sorted.into_iter().enumerate() {
            clusters.by_name.insert(name, number);
            clusters.all.push(cluster);
        }
        clusters
    }

    /// The cluster of that name; without it a request ends with `NC`, `cluster_not_found`.
    pub fn find(&self, name: &str) -> Option<&Cluster<'a>> {
        let number = self.by_name.get(name)?;
        Some(&self.all[*number])
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Cluster<'a>> {
        self.all.iter()
    }
}

impl<'a> Cluster<'a> {
    /// Where it sends a request. `original` is the address that the client wanted to reach, where a
    /// listener restored it.
    pub fn select(
        &self,
        original: Option<(IpAddr, u16)>,
        record: &mut DecisionRecord,
    ) -> HostSelection<'_, 'a> {
        if record.is_kept() {
            self.explain(record);
        }
        match (&self.choice, original) {
            (ClusterChoice::Endpoints(shares, lost), _) => HostSelection::Endpoints {
                picks: shares.iter().map(|share| self.pick(share)).collect(),
                lost: *lost,
            },
            (ClusterChoice::Original(port), Some((ip, wanted))) => {
                HostSelection::Original(ip, port.unwrap_or(wanted))
            }
            (ClusterChoice::Original(_), None) => HostSelection::None(
                "no listener restored the address that the client wanted to reach",
            ),
            (ClusterChoice::None(why), _) => HostSelection::None(why),
            (ClusterChoice::Unknown(fact), _) => HostSelection::Unknown(fact.clone()),
        }
    }

    /// How an endpoint of the cluster is talked to; `None` for the address that the client wanted
    /// to reach.
    ///
    /// # Errors
    /// The fact that is missing to tell which transport socket matches.
    pub fn transport(&self, endpoint: Option<&Endpoint<'a>>) -> Result<&Transport<'a>, Box<str>> {
        match endpoint {
            Some(endpoint) => self.sockets.at(&endpoint.socket),
            None => self.sockets.at(&self.sockets.place(None, true)),
        }
    }

    fn pick(&self, share: &EndpointShare) -> EndpointPick<'_, 'a> {
        let endpoint = &self.endpoints[share.endpoint];
        EndpointPick {
            endpoint,
            percent: share.percent,
            in_panic: share.in_panic,
        }
    }

    fn read(raw: Raw<'a>, known: &endpoint::KnownEndpoints<'_, 'a>) -> Option<Self> {
        let name = raw.string_at("name")?;
        let mut cluster = Self {
            at: raw.offset(),
            raw,
            discovery: Cow::Borrowed("STATIC"),
            lb_policy: Cow::Borrowed("ROUND_ROBIN"),
            endpoints: Vec::new(),
            sockets: Sockets::default(),
            choice: ClusterChoice::None("the cluster has no endpoints"),
            protocol: OnceCell::new(),
            name,
        };
        let mut policy = LbPolicy::default();
        let mut original_port = None;
        for (key, value) in raw.members() {
            match &*key {
                "type" => cluster.discovery = value.string().unwrap_or_default(),
                "cluster_type" => cluster.discovery = value.string_at("name").unwrap_or_default(),
                "lb_policy" => cluster.lb_policy = value.string().unwrap_or_default(),
                "transport_socket" | "transport_socket_matches" | "transport_socket_matcher" => {
                    cluster.sockets.read(&key, value);
                }
                "original_dst_lb_config" => original_port = Some(value),
                _ => policy.read(&key, value),
            }
        }
        cluster.choose(known, policy, original_port);
        Some(cluster)
    }

    fn choose(
        &mut self,
        known: &endpoint::KnownEndpoints<'_, 'a>,
        mut policy: LbPolicy,
        original: Option<Raw<'a>>,
    ) {
        // Such a cluster has no endpoints: each request brings its own.
        if self.discovery == "ORIGINAL_DST" || self.discovery == "envoy.clusters.original_dst" {
            self.choice = facts::original_destination(original);
            return;
        }
        match known.endpoints(self.raw, &self.name, &self.discovery, &mut policy) {
            Ok(endpoints) => {
                self.endpoints = endpoints;
                for endpoint in &mut self.endpoints {
                    endpoint.socket = self.sockets.place_of(endpoint);
                }
                self.choice = balance::choose(&self.endpoints, &policy);
            }
            Err(fact) => self.choice = ClusterChoice::Unknown(fact),
        }
        // Whatever was chosen, something that is not modelled has the last word.
        if let Some(what) = policy.unmodelled {
            self.choice = ClusterChoice::Unknown(unmodelled(&what));
        }
    }

    /// Every endpoint, and whether it may be picked.
    fn explain(&self, record: &mut DecisionRecord) {
        let shares = match &self.choice {
            ClusterChoice::Endpoints(shares, _) => &shares[..],
            _ => &[],
        };
        for (number, endpoint) in self.endpoints.iter().enumerate() {
            let share = shares.iter().find(|share| share.endpoint == number);
            record.push(MatchCandidate {
                what: endpoint.address.to_string().into(),
                matched: share.is_some().into(),
                why: self.why(endpoint, share, shares),
                at: endpoint.at.unwrap_or(self.at),
            });
        }

        if let ClusterChoice::Unknown(fact) = &self.choice {
            record.push(MatchCandidate {
                what: self.name.to_string().into(),
                matched: Tri::Unknown(fact.clone()),
                why: fact.to_string(),
                at: self.at,
            });
        }
    }

    fn why(
        &self,
        endpoint: &Endpoint<'a>,
        share: Option<&EndpointShare>,
        shares: &[EndpointShare],
    ) -> String {
        match share {
            Some(share) if share.in_panic => {
                "too few endpoints are healthy, so any is picked".to_owned()
            }
            Some(share) => {
                let percent = share.percent;
                format!("{percent}% of requests go to its priority and health")
            }
            None => {
                let picked = shares.iter().map(|share| &self.endpoints[share.endpoint]);
                endpoint.why_not(picked)
            }
        }
    }
}

impl Endpoint<'_> {
    /// Why it is not picked when these are.
    fn why_not<'e>(&self, picked: impl Iterator<Item = &'e Self>) -> String
    where
        Self: 'e,
    {
        match self.health {
            Health::Ejected => return "ejected by outlier detection".to_owned(),
            Health::Unhealthy(why) => return why.to_owned(),
            Health::Healthy | Health::Degraded => {}
        }
        for other in picked {
            // Others like it are picked, so it must be the locality.
            if other.priority == self.priority && other.health == self.health {
                return "its locality has no weight".to_owned();
            }
        }
        if self.health == Health::Degraded {
            return "degraded, and there are enough other endpoints".to_owned();
        }
        let own = self.priority;
        format!("endpoints of another priority take all requests, its own is {own}")
    }

    /// Its IP address and port; none for other kinds of address.
    pub fn socket(&self) -> Option<(IpAddr, u16)> {
        *self.parsed.get_or_init(|| self.parse_socket())
    }

    /// The tunnel that it is reached through; none for one that is reached directly. A tunnel for
    /// whatever the client wanted to reach names no address of its own.
    pub fn tunnel(&self) -> Option<Tunnel> {
        let HostAddress::Internal(listener, id) = &self.address else {
            return None;
        };
        if !listener.ends_with("connect_originate") {
            return None;
        }
        let original = self
            .metadata
            .and_then(|metadata| metadata.at(["filter_metadata", ORIGINAL_DST]));
        let address = |key: &str| original?.string_at(key)?.parse().ok();
        let pair = |address: SocketAddr| (address.ip(), address.port());
        Some(Tunnel {
            to: address("local").or_else(|| id.parse().ok()).map(pair),
            waypoint: address("waypoint").map(pair),
        })
    }

    fn parse_socket(&self) -> Option<(IpAddr, u16)> {
        let HostAddress::Socket(ip, port) = &self.address else {
            return None;
        };
        Some((ip.parse().ok()?, u16::try_from(*port).ok()?))
    }
}

/// Where the metadata of an endpoint says what a tunnel leads to.
const ORIGINAL_DST: &str = "envoy.filters.listener.original_dst";

/// A tunnel (HBONE) to a pod or a waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// What it is asked to lead to; none for whatever the client wanted to reach.
    pub to: Option<(IpAddr, u16)>,
    /// The waypoint that it goes to first.
    pub waypoint: Option<(IpAddr, u16)>,
}

#[cfg(test)]
mod tests;
