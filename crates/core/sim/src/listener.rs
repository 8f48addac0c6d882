//! Which listener takes a connection, the way Istio has them: redirected connections come to one
//! listener, which hands them to the one for the address that the client wanted to reach.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::chain::{ChainChoice, FilterChains};
use super::inspect::{InspectedConnection, ListenerFilters};
use super::request::Connection;
use super::{DecisionRecord, MatchCandidate, Tri};
use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_text::json::Raw;

mod address;
pub mod capture;

pub use address::Address;
pub use capture::Capture;

/// The listeners of one proxy that take connections.
#[derive(Debug, Default)]
pub struct Listeners<'a> {
    /// All of them, in the dump's order.
    pub listeners: Vec<Listener<'a>>,
    /// What the pod's redirection leaves alone. It is read from the proxy's own metadata, which
    /// does not know what the mesh leaves out for all pods.
    pub capture: Capture,
    by_address: BTreeMap<(IpAddr, u16), usize>,
}

/// One listener (`envoy.config.listener.v3.Listener`).
#[derive(Debug)]
pub struct Listener<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
    /// The `Listener`.
    pub raw: Raw<'a>,
    /// `INBOUND`, `OUTBOUND`, or empty.
    pub traffic_direction: Cow<'a, str>,
    /// Where it listens for TCP, bound or not.
    pub addresses: Vec<Address>,
    /// "Whether the listener should bind to the port. A listener that doesn't bind can only receive
    /// connections redirected from other listeners that set `use_original_dst` to true."
    pub bind_to_port: bool,
    /// Whether it hands redirected connections to other listeners.
    pub use_original_dst: bool,
    /// Its listener filters.
    pub filters: ListenerFilters<'a>,
    /// Its filter chains.
    pub chains: FilterChains<'a>,
}

/// Where a connection comes from, as the proxy's pod sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficDirection {
    /// The pod's own application makes it.
    Outbound,
    /// It comes from outside the pod.
    Inbound,
}

/// What becomes of a connection.
#[derive(Debug)]
pub enum ListenerOutcome<'c, 'a> {
    /// A listener takes it.
    Taken(ListenerPick<'c, 'a>),
    /// It does not come to Envoy, for this reason.
    NotCaptured(Cow<'static, str>),
    /// Nothing listens there: the connection is refused.
    NoListener,
}

/// A connection in the hands of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerPick<'c, 'a> {
    /// The listener.
    pub listener: &'c Listener<'a>,
    /// How it came there.
    pub how: Arrival,
    /// The listener that handed it over.
    pub from: Option<&'c Listener<'a>>,
}

/// How a connection came to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The listener has the very address and port that the client wanted to reach.
    Exact,
    /// It has the port, at any address.
    Wildcard,
    /// No other listener has the address or the port.
    Stays,
    /// All connections from outside are redirected to it.
    Redirected,
    /// The client called its port, or one that leads there.
    Bound,
}

impl<'a> Listeners<'a> {
    /// Reads the listeners of a dump that was indexed with [`Section::Listeners`]. Those that are
    /// warming or draining take no new connections.
    pub fn compile(dump: &Dump<'a>) -> Self {
        let mut compiled = Self::default();
        for resource in dump.of(Section::Listeners) {
            if !matches!(
                resource.state,
                ResourceState::Static | ResourceState::Active
            ) {
                continue;
            }
            if let Some(listener) = Listener::read(resource) {
                compiled.add(listener);
            }
        }
        if let Some(bootstrap) = dump.section(Section::Bootstrap) {
            compiled.capture = Capture::read(bootstrap);
        }
        compiled
    }

    /// The listener of that name.
    pub fn find(&self, name: &str) -> Option<&Listener<'a>> {
        self.listeners.iter().find(|listener| listener.name == name)
    }

    /// What becomes of a connection.
    pub fn accept(
        &self,
        side: TrafficDirection,
        connection: &Connection,
        record: &mut DecisionRecord,
    ) -> ListenerOutcome<'_, 'a> {
        let Some(entry) = self.entry(side) else {
            return self.bound(connection.destination, None, record);
        };
        if let Some(why) = self.capture.leaves_alone(side, connection) {
            return self.bound(connection.destination, Some(why), record);
        }
        if side == TrafficDirection::Inbound {
            return taken(entry, Arrival::Redirected, None, record);
        }
        self.hand_over(entry, connection.destination, record)
    }

    /// The listener that redirected connections come to.
    fn entry(&self, side: TrafficDirection) -> Option<&Listener<'a>> {
        self.listeners
            .iter()
            .find(|listener| listener.is_entry(side))
    }

    /// "If a connection is redirected using iptables, the port on which the proxy receives it might
    /// be different from the original destination address. When this flag is set to true, the
    /// listener hands off redirected connections to the listener associated with the original
    /// destination address. If there is no listener associated with the original destination
    /// address, the connection is handled by the listener that receives it."
    fn hand_over<'c>(
        &'c self,
        entry: &'c Listener<'a>,
        destination: (IpAddr, u16),
        record: &mut DecisionRecord,
    ) -> ListenerOutcome<'c, 'a> {
        let Some((found, how)) = self.at(destination, |_| true) else {
            self.explain_port(destination, entry, record);
            return taken(entry, Arrival::Stays, None, record);
        };
        self.explain_port(destination, found, record);
        taken(found, how, Some(entry), record)
    }

    /// The kernel's choice among listeners that are bound: the very address before the wildcard.
    fn bound(
        &self,
        destination: (IpAddr, u16),
        why_not: Option<Cow<'static, str>>,
        record: &mut DecisionRecord,
    ) -> ListenerOutcome<'_, 'a> {
        let found = self.at(destination, |listener| listener.bind_to_port);
        match (found, why_not) {
            (Some((listener, _)), _) => taken(listener, Arrival::Bound, None, record),
            (None, Some(why)) => ListenerOutcome::NotCaptured(why),
            (None, None) => ListenerOutcome::NoListener,
        }
    }

    /// The listener of an address among those that are `eligible`: the very address before the wildcard
    /// of its family.
    fn at(
        &self,
        (ip, port): (IpAddr, u16),
        eligible: impl Fn(&Listener<'a>) -> bool,
    ) -> Option<(&Listener<'a>, Arrival)> {
        let places = [(ip, Arrival::Exact), (wildcard_of(ip), Arrival::Wildcard)];
        for (ip, how) in places {
            let Some(number) = self.by_address.get(&(ip, port)) else {
                continue;
            };
            let listener = &self.listeners[*number];
            if eligible(listener) {
                return Some((listener, how));
            }
        }
        None
    }

    /// Other listeners of the same port.
    fn explain_port(
        &self,
        (ip, port): (IpAddr, u16),
        found: &Listener<'a>,
        record: &mut DecisionRecord,
    ) {
        if !record.is_kept() {
            return;
        }
        for listener in &self.listeners {
            if listener.at == found.at {
                continue;
            }
            for address in &listener.addresses {
                if address.port == port {
                    record.push(listener.candidate(Tri::No, address.why_not(ip)));
                }
            }
        }
    }

    fn add(&mut self, listener: Listener<'a>) {
        let number = self.listeners.len();
        for address in &listener.addresses {
            self.by_address.insert((address.ip, address.port), number);
        }
        // An IPv6 wildcard that also takes IPv4 does not take it from a listener for IPv4.
        for (ip, port) in listener.addresses.iter().filter_map(Address::also) {
            self.by_address.entry((ip, port)).or_insert(number);
        }
        self.listeners.push(listener);
    }
}

impl<'a> Listener<'a> {
    /// Reads a listener. "bind_to_port: … The default is true."
    fn read(resource: &Resource<'a>) -> Option<Self> {
        let raw = resource.raw?;
        let mut listener = Self {
            name: resource.name.clone(),
            at: raw.offset(),
            raw,
            traffic_direction: Cow::default(),
            addresses: Vec::new(),
            bind_to_port: true,
            use_original_dst: false,
            filters: ListenerFilters::compile(raw),
            chains: FilterChains::compile(raw),
        };
        for (key, value) in raw.members() {
            match &*key {
                "address" => listener.addresses.extend(Address::read(value)),
                "additional_addresses" => {
                    for address in value.elements() {
                        let address = address.get("address").and_then(Address::read);
                        listener.addresses.extend(address);
                    }
                }
                "bind_to_port" => listener.bind_to_port = value.bool() != Some(false),
                "use_original_dst" => listener.use_original_dst = value.bool() == Some(true),
                "traffic_direction" => {
                    listener.traffic_direction = value.string().unwrap_or_default();
                }
                _ => {}
            }
        }
        Some(listener)
    }

    /// Whether redirected connections come to it. Istio redirects what goes out to a listener that
    /// hands it on, and what comes in to one that keeps it.
    fn is_entry(&self, side: TrafficDirection) -> bool {
        if !self.bind_to_port {
            return false;
        }
        match side {
            TrafficDirection::Outbound => self.use_original_dst,
            TrafficDirection::Inbound => {
                !self.use_original_dst
                    && self.filters.restore_destination()
                    && self.traffic_direction == "INBOUND"
            }
        }
    }

    fn candidate(&self, matched: Tri, why: String) -> MatchCandidate {
        MatchCandidate {
            what: self.name.to_string().into(),
            matched,
            why,
            at: self.at,
        }
    }
}

impl<'c, 'a> ListenerPick<'c, 'a> {
    /// What filter chains see of the connection. A listener that hands a connection over lets its
    /// own filters look first, and what they found stays known.
    ///
    /// # Errors
    /// The fact that is missing to tell what the filters see.
    pub fn inspect<'r>(
        &self,
        connection: &'r Connection,
    ) -> Result<InspectedConnection<'r>, Box<str>> {
        let wanted = connection.destination.1;
        let mut seen = InspectedConnection::unseen(connection);
        if let Some(from) = self.from {
            seen = from.filters.inspect(connection, from.port(wanted), seen)?;
        }

        // A listener that another one hands the connection to has the address restored already.
        let arrived = match self.how {
            Arrival::Stays | Arrival::Redirected => self.listener.port(wanted),
            Arrival::Exact | Arrival::Wildcard | Arrival::Bound => wanted,
        };
        self.listener.filters.inspect(connection, arrived, seen)
    }

    /// The filter chain that takes the connection.
    pub fn chain(
        &self,
        connection: &Connection,
        record: &mut DecisionRecord,
    ) -> ChainChoice<'c, 'a> {
        match self.inspect(connection) {
            Ok(seen) => self.listener.chains.find(&seen, record),
            Err(fact) => ChainChoice::Undecided(fact),
        }
    }

    /// Whether the address that the client wanted to reach was restored: without that an
    /// `ORIGINAL_DST` cluster has no host.
    pub fn is_restored(&self) -> bool {
        self.how != Arrival::Bound || self.listener.filters.restore_destination()
    }
}

impl Listener<'_> {
    /// The port it is bound to.
    fn port(&self, otherwise: u16) -> u16 {
        match self.addresses.first() {
            Some(address) => address.port,
            None => otherwise,
        }
    }
}

impl Arrival {
    /// In words, for the listener that was chosen.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exact => "listens on the address and port that the client wants to reach",
            Self::Wildcard => "listens on the port that the client wants to reach, at any address",
            Self::Stays => "takes what no other listener listens for",
            Self::Redirected => "takes all that comes from outside the pod",
            Self::Bound => "is bound to the port",
        }
    }
}

fn taken<'c, 'a>(
    listener: &'c Listener<'a>,
    how: Arrival,
    from: Option<&'c Listener<'a>>,
    record: &mut DecisionRecord,
) -> ListenerOutcome<'c, 'a> {
    if record.is_kept() {
        record.push(listener.candidate(Tri::Yes, how.words().to_owned()));
    }
    ListenerOutcome::Taken(ListenerPick {
        listener,
        how,
        from,
    })
}

/// All addresses of a family.
fn wildcard_of(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests;
