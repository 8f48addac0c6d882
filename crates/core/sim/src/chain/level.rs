//! The levels at which filter chains are told apart, and what a chain can name at each.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use super::super::cidr::Cidr;
use super::super::inspect::InspectedConnection;

/// The levels in the order of the search.
pub(super) const LEVELS: [MatchLevel; 9] = [
    MatchLevel::DestinationPort,
    MatchLevel::Destination,
    MatchLevel::ServerName,
    MatchLevel::TransportProtocol,
    MatchLevel::ApplicationProtocol,
    MatchLevel::DirectSource,
    MatchLevel::SourceType,
    MatchLevel::Source,
    MatchLevel::SourcePort,
];

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchLevel {
    DestinationPort,
    Destination,
    ServerName,
    TransportProtocol,
    ApplicationProtocol,
    DirectSource,
    SourceType,
    Source,
    SourcePort,
}

/// What a chain names at a level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChainKey<'a> {
    /// Nothing: it takes everything.
    Any,
    Port(u16),
    Range(Cidr),
    /// A protocol, or a server name. A leading dot stands for `*.`, as in Envoy's own index.
    Text(Cow<'a, str>),
    Source(SourceType),
}

/// `envoy.config.listener.v3.FilterChainMatch.ConnectionSourceType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SourceType {
    SameIpOrLoopback,
    External,
}

impl MatchLevel {
    /// The criterion in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::DestinationPort => "destination port",
            Self::Destination => "destination address",
            Self::ServerName => "server name",
            Self::TransportProtocol => "transport protocol",
            Self::ApplicationProtocol => "application protocol",
            Self::DirectSource => "direct source address",
            Self::Source => "source address",
            Self::SourceType => "source type",
            Self::SourcePort => "source port",
        }
    }
}

impl<'a> ChainKey<'a> {
    /// Port 0 is how Envoy's index writes "any".
    pub(super) fn port(port: u16) -> Self {
        if port == 0 {
            return Self::Any;
        }
        Self::Port(port)
    }

    pub(super) fn text(text: Cow<'a, str>) -> Self {
        if text.is_empty() {
            return Self::Any;
        }
        Self::Text(text)
    }

    /// What a connection has, to look a chain up by.
    pub(super) fn named(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// "Partial wildcards are not supported, and values like `*w.example.com` are invalid", so a star
    /// stands for whole labels; names are compared in lower case.
    pub(super) fn server_name(name: Cow<'a, str>) -> Self {
        let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
        match name {
            Cow::Borrowed(name) if is_lower => {
                Self::text(name.strip_prefix('*').unwrap_or(name).into())
            }
            name => {
                let name = name.to_ascii_lowercase();
                Self::text(name.strip_prefix('*').unwrap_or(&name).to_owned().into())
            }
        }
    }

    /// Whether the connection has it, taken by itself. What is not known of the connection it does
    /// not have.
    pub(super) fn matches(&self, level: MatchLevel, seen: &InspectedConnection<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Port(port) => port_at(level, seen) == Some(*port),
            Self::Range(range) => address_at(level, seen).is_some_and(|ip| range.contains(ip)),
            Self::Text(text) => has_text(text, level, seen),
            Self::Source(source) => SourceType::seen(seen) == Some(*source),
        }
    }

    /// As reasons name it.
    pub(super) fn words(&self, level: MatchLevel) -> String {
        match self {
            Self::Text(suffix) if level == MatchLevel::ServerName && suffix.starts_with('.') => {
                format!("*{suffix}")
            }
            key => key.to_string(),
        }
    }
}

impl fmt::Display for ChainKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Port(port) => write!(f, "{port}"),
            Self::Range(range) => write!(f, "{range}"),
            Self::Text(text) => f.write_str(text),
            Self::Source(source) => f.write_str(source.words()),
        }
    }
}

impl SourceType {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "SAME_IP_OR_LOOPBACK" => Some(Self::SameIpOrLoopback),
            "EXTERNAL" => Some(Self::External),
            _ => None,
        }
    }

    /// "Match a connection originating from the same host", or "from a different host"; none
    /// without a source.
    pub(super) fn seen(seen: &InspectedConnection<'_>) -> Option<Self> {
        let (source, _) = seen.source?;
        if source == seen.destination.0 || is_canonical_loopback(source) {
            return Some(Self::SameIpOrLoopback);
        }
        Some(Self::External)
    }

    fn words(self) -> &'static str {
        match self {
            Self::SameIpOrLoopback => "same IP or loopback",
            Self::External => "external",
        }
    }
}

/// Envoy counts only 127.0.0.1 and `::1`, not the whole of 127.0.0.0/8.
fn is_canonical_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4 == std::net::Ipv4Addr::LOCALHOST,
        IpAddr::V6(v6) => v6 == std::net::Ipv6Addr::LOCALHOST,
    }
}

/// The names under which chains for a server name are looked up: the name, then its suffixes at
/// label borders, longest first: "`www.example.com` will be first matched against
/// `www.example.com`, then `*.example.com`, then `*.com`". A lone dot is not looked up.
pub(super) fn server_names(name: &str) -> impl Iterator<Item = &str> {
    let dots = name.match_indices('.').map(|(at, _)| at);
    let suffixes = dots
        .filter(|at| *at > 0 && at + 1 < name.len())
        .map(|at| &name[at..]);
    std::iter::once(name).chain(suffixes)
}

fn port_at(level: MatchLevel, seen: &InspectedConnection<'_>) -> Option<u16> {
    if level == MatchLevel::DestinationPort {
        return Some(seen.destination.1);
    }
    let (_, port) = seen.source?;
    Some(port)
}

fn address_at(level: MatchLevel, seen: &InspectedConnection<'_>) -> Option<IpAddr> {
    match level {
        MatchLevel::Destination => Some(seen.destination.0),
        MatchLevel::DirectSource => seen.direct_source,
        _ => {
            let (ip, _) = seen.source?;
            Some(ip)
        }
    }
}

fn has_text(text: &str, level: MatchLevel, seen: &InspectedConnection<'_>) -> bool {
    match level {
        MatchLevel::ServerName => server_names(&seen.server_name).any(|name| name == text),
        MatchLevel::TransportProtocol => seen.transport_protocol == text,
        _ => seen
            .application_protocols
            .iter()
            .any(|protocol| protocol == text),
    }
}
