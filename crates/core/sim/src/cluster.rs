//! Clusters: which endpoints a request may go to, and how it is sent there
//! (`envoy.config.cluster.v3.Cluster`).

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

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
        let in_use = dump
            .of(Section::Clusters)
            .filter(|c| matches!(c.state, ResourceState::Static | ResourceState::Active));
        let clusters = in_use.filter_map(|cluster| Cluster::read(cluster.raw?, &known));
        let sorted: BTreeMap<_, _> = clusters
            .map(|cluster| (cluster.name.clone(), cluster))
            .collect();
        let all: Vec<_> = sorted.into_values().collect();
        Self {
            by_name: all
                .iter()
                .enumerate()
                .map(|(number, c)| (c.name.clone(), number))
                .collect(),
            all,
        }
    }

    /// The cluster of that name; without it a request ends with `NC`, `cluster_not_found`.
    pub fn find(&self, name: &str) -> Option<&Cluster<'a>> {
        self.by_name.get(name).map(|number| &self.all[*number])
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
        self.explain(record);
        match &self.choice {
            ClusterChoice::Endpoints(shares, lost) => HostSelection::Endpoints {
                picks: shares.iter().map(|share| self.pick(share)).collect(),
                lost: *lost,
            },
            ClusterChoice::Original(port) => match original {
                Some((ip, wanted)) => HostSelection::Original(ip, port.unwrap_or(wanted)),
                None => HostSelection::None(
                    "no listener restored the address that the client wanted to reach",
                ),
            },
            ClusterChoice::None(why) => HostSelection::None(why),
            ClusterChoice::Unknown(fact) => HostSelection::Unknown(fact.clone()),
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
        if let Some(what) = policy.unmodelled {
            self.choice = ClusterChoice::Unknown(unmodelled(&what));
        }
    }

    /// Every endpoint, and whether it may be picked.
    fn explain(&self, record: &mut DecisionRecord) {
        if !record.keep {
            return;
        }
        let shares = if let ClusterChoice::Endpoints(shares, _) = &self.choice {
            &shares[..]
        } else {
            &[]
        };
        for (number, endpoint) in self.endpoints.iter().enumerate() {
            let share = shares.iter().find(|share| share.endpoint == number);
            let why = match share {
                Some(share) if share.in_panic => {
                    "too few endpoints are healthy, so any is picked".to_owned()
                }
                Some(share) => format!(
                    "{}% of requests go to its priority and health",
                    share.percent
                ),
                None => {
                    endpoint.why_not(shares.iter().map(|share| &self.endpoints[share.endpoint]))
                }
            };
            let what = endpoint.address.to_string();
            let at = endpoint.at.unwrap_or(self.at);
            record.add(|| MatchCandidate {
                what: what.into(),
                matched: share.is_some().into(),
                why,
                at,
            });
        }
        if let ClusterChoice::Unknown(fact) = &self.choice {
            let matched = Tri::Unknown(fact.clone());
            record.add(|| MatchCandidate {
                what: self.name.to_string().into(),
                matched,
                why: fact.to_string(),
                at: self.at,
            });
        }
    }
}

impl Endpoint<'_> {
    /// Why it is not picked when these are.
    fn why_not<'e>(&self, mut picked: impl Iterator<Item = &'e Self>) -> String
    where
        Self: 'e,
    {
        match &self.health {
            Health::Ejected => "ejected by outlier detection".to_owned(),
            Health::Unhealthy(why) => (*why).to_owned(),
            health
                if picked
                    .any(|other| other.priority == self.priority && other.health == *health) =>
            {
                "its locality has no weight".to_owned()
            }
            Health::Healthy => format!(
                "endpoints of another priority take all requests, its own is {}",
                self.priority
            ),
            Health::Degraded => "degraded, and there are enough other endpoints".to_owned(),
        }
    }

    /// Its IP address and port; none for other kinds of address.
    pub fn socket(&self) -> Option<(IpAddr, u16)> {
        *self.parsed.get_or_init(|| {
            let HostAddress::Socket(ip, port) = &self.address else {
                return None;
            };
            Some((ip.parse().ok()?, u16::try_from(*port).ok()?))
        })
    }
}

#[cfg(test)]
mod tests;
