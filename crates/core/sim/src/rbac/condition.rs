//! The leaves of a policy's trees: what is looked at, and what it must be.

use std::net::IpAddr;
use std::ops::Range;

use super::metadata::MetadataMatcher;
use crate::matcher::{
    HeaderMatcher, StringMatcher, UriTemplate, unmodelled, without_query_and_fragment,
};
use crate::state::{Peer, RemoteAddress};
use crate::{RequestState, Tri};
use meshladder_text::cidr::Cidr;
use meshladder_text::json::Raw;

/// A compiled leaf.
#[derive(Clone, Debug)]
pub enum RbacCondition {
    /// `header`
    Header(HeaderMatcher),
    /// `url_path`: the path without its query.
    UrlPath(StringMatcher),
    /// `uri_template`
    UriTemplate(UriTemplate),
    /// `destination_ip`: where the client wanted to go.
    DestinationIp(Cidr),
    /// `destination_port`, `destination_port_range`: the end is not part of it.
    DestinationPort(Range<u32>),
    /// `requested_server_name`
    ServerName(StringMatcher),
    /// `metadata`, `sourced_metadata`
    Metadata(MetadataMatcher),
    /// `authenticated`: "If unset, it applies to any user that is authenticated."
    Authenticated(Option<StringMatcher>),
    /// `source_ip`: as PROXY protocol tells it, but not `x-forwarded-for`.
    SourceIp(Cidr),
    /// `direct_remote_ip`: the other end of the socket.
    DirectRemoteIp(Cidr),
    /// `remote_ip`
    RemoteIp(Cidr),
    /// `filter_state`: key and what it must be.
    FilterState(Box<str>, StringMatcher),
    /// Something else: the missing fact.
    Unmodelled(Box<str>),
}

/// Where a waypoint and an HBONE listener keep the caller's identity.
const PEER_PRINCIPAL: &str = "io.istio.peer_principal";

impl RbacCondition {
    /// Compiles a leaf of a `Permission`.
    pub(super) fn permission(key: &str, value: Raw<'_>) -> Self {
        match key {
            "destination_ip" => cidr(value, Self::DestinationIp),
            "destination_port" => {
                let port = number(value);
                Self::DestinationPort(port..port + 1)
            }
            "destination_port_range" => {
                let bound = |key| value.get(key).map_or(0, number);
                Self::DestinationPort(bound("start")..bound("end"))
            }
            "requested_server_name" => Self::ServerName(StringMatcher::compile(value)),
            "uri_template" => match value
                .at(["typed_config", "path_template"])
                .and_then(Raw::string)
            {
                Some(template) => Self::UriTemplate(UriTemplate::compile(&template)),
                None => Self::unmodelled(key, value),
            },
            _ => Self::of_both(key, value),
        }
    }

    /// Compiles a leaf of a `Principal`.
    pub(super) fn principal(key: &str, value: Raw<'_>) -> Self {
        match key {
            "authenticated" => {
                Self::Authenticated(value.get("principal_name").map(StringMatcher::compile))
            }
            "source_ip" => cidr(value, Self::SourceIp),
            "direct_remote_ip" => cidr(value, Self::DirectRemoteIp),
            "remote_ip" => cidr(value, Self::RemoteIp),
            "filter_state" => match (value.string_at("key"), value.get("string_match")) {
                (Some(key), Some(matcher)) => {
                    Self::FilterState(key.into(), StringMatcher::compile(matcher))
                }
                _ => Self::unmodelled(key, value),
            },
            _ => Self::of_both(key, value),
        }
    }

    fn of_both(key: &str, value: Raw<'_>) -> Self {
        match key {
            "header" => Self::Header(HeaderMatcher::compile(value)),
            "url_path" => match value.get("path") {
                Some(matcher) => Self::UrlPath(StringMatcher::compile(matcher)),
                None => Self::unmodelled(key, value),
            },
            "metadata" => Self::Metadata(MetadataMatcher::compile(value)),
            "sourced_metadata" => Self::Metadata(MetadataMatcher::sourced(value)),
            _ => Self::unmodelled(key, value),
        }
    }

    fn unmodelled(key: &str, value: Raw<'_>) -> Self {
        let name = value
            .string_at("name")
            .map_or_else(|| key.to_owned(), |name| format!("{key} {name}"));
        Self::Unmodelled(unmodelled(&format!("the RBAC rule {name}")))
    }

    /// Whether it holds.
    pub(super) fn matches(&self, state: &RequestState<'_>) -> Tri {
        let connection = &state.request.connection;
        match self {
            Self::Header(matcher) => header(matcher, state),
            Self::UrlPath(_) | Self::UriTemplate(_) if !state.is_http => Tri::No,
            Self::UrlPath(matcher) => {
                matcher.matches(without_query_and_fragment(&state.request.path))
            }
            Self::UriTemplate(template) => {
                template.matches(without_query_and_fragment(&state.request.path))
            }
            Self::DestinationIp(range) => range.contains(connection.destination.0).into(),
            Self::DestinationPort(ports) => {
                ports.contains(&u32::from(connection.destination.1)).into()
            }
            Self::ServerName(matcher) => matcher.matches(server_name(state)),
            Self::Metadata(matcher) => matcher.matches(state),
            Self::Authenticated(name) => authenticated(name.as_ref(), &state.caller),
            Self::SourceIp(range) | Self::DirectRemoteIp(range) | Self::RemoteIp(range) => {
                within(*range, &self.address(state))
            }
            Self::FilterState(key, matcher) => filter_state(key, matcher, state),
            Self::Unmodelled(fact) => Tri::Unknown(fact.clone()),
        }
    }

    /// What decided, in words.
    pub(super) fn why(&self, state: &RequestState<'_>) -> String {
        let connection = &state.request.connection;
        let holds = self.matches(state) == Tri::Yes;
        let in_range = |what: &str, ip: IpAddr, range: &Cidr| {
            format!("{what} {ip} is {}in {range}", not(holds))
        };
        match self {
            Self::Header(_) | Self::UrlPath(_) | Self::UriTemplate(_) if !state.is_http => {
                format!("{} is looked at, and this is not HTTP", self.what())
            }
            Self::Header(matcher) => matcher.why(&state.request),
            Self::UrlPath(matcher) => {
                format!(
                    "path `{}` {}",
                    without_query_and_fragment(&state.request.path),
                    matcher.verb(holds)
                )
            }
            Self::UriTemplate(template) => {
                let fits = if holds { "fits" } else { "does not fit" };
                format!(
                    "path `{}` {fits} `{}`",
                    without_query_and_fragment(&state.request.path),
                    template.source()
                )
            }
            Self::DestinationIp(range) => in_range("destination", connection.destination.0, range),
            Self::DestinationPort(ports) => {
                let Range { start, end } = ports;
                let wanted = if end - start == 1 {
                    start.to_string()
                } else {
                    format!("in [{start}, {end})")
                };
                format!(
                    "port {} is {}{wanted}",
                    connection.destination.1,
                    not(holds)
                )
            }
            Self::ServerName(matcher) => format!(
                "server name `{}` {}",
                server_name(state),
                matcher.verb(holds)
            ),
            Self::Metadata(matcher) => matcher.why(state),
            Self::Authenticated(name) => why_authenticated(name.as_ref(), &state.caller),
            Self::SourceIp(range) | Self::DirectRemoteIp(range) | Self::RemoteIp(range) => self
                .address(state)
                .map_or_else(|fact| fact.to_string(), |ip| in_range("source", ip, range)),
            Self::FilterState(key, matcher) => match filter_state_value(key, state) {
                Some(value) => format!("filter state {key} `{value}` {}", matcher.verb(holds)),
                None => format!("filter state {key} is absent"),
            },
            Self::Unmodelled(fact) => fact.to_string(),
        }
    }

    /// The address of the client that is looked at.
    fn address(&self, state: &RequestState<'_>) -> RemoteAddress {
        match self {
            Self::SourceIp(_) => state
                .request
                .connection
                .source
                .map(|(ip, _)| ip)
                .ok_or_else(|| "the source address".into()),
            Self::RemoteIp(_) => state.remote.clone(),
            _ => state.direct_remote.clone(),
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Header(matcher) => format!("header {}", matcher.name),
            _ => "the path".to_owned(),
        }
    }
}

fn not(holds: bool) -> &'static str {
    if holds { "" } else { "not " }
}

fn cidr(value: Raw<'_>, condition: fn(Cidr) -> RbacCondition) -> RbacCondition {
    Cidr::read(value).map_or_else(
        || RbacCondition::Unmodelled("an address range that is none".into()),
        condition,
    )
}

fn number(value: Raw<'_>) -> u32 {
    value
        .number()
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or_default()
}

/// Without HTTP there is an empty header map: every header is missing, the pseudo headers too.
fn header(matcher: &HeaderMatcher, state: &RequestState<'_>) -> Tri {
    if state.is_http {
        return matcher.matches(&state.request);
    }
    let mut nameless = matcher.clone();
    nameless.name = "".into();
    nameless.matches(&state.request)
}

fn server_name<'s>(state: &'s RequestState<'_>) -> &'s str {
    state
        .request
        .connection
        .tls
        .as_ref()
        .and_then(|tls| tls.sni.as_deref())
        .unwrap_or_default()
}

fn within(range: Cidr, address: &RemoteAddress) -> Tri {
    match address {
        Ok(ip) => range.contains(*ip).into(),
        Err(fact) => Tri::Unknown(fact.clone()),
    }
}

const IDENTITY: &str = "the caller's identity";

/// "name is tried on all URI SANs, then DNS SANs, then subject": the last is empty in certificates
/// of a mesh.
fn authenticated(name: Option<&StringMatcher>, caller: &Peer) -> Tri {
    match (caller, name) {
        (Peer::Plain, _) => Tri::No,
        (Peer::Unknown, _) => Tri::unknown(IDENTITY),
        (Peer::Tls(_), None) => Tri::Yes,
        (Peer::Tls(peers), Some(name)) => Tri::any(
            peers
                .iter()
                .map(String::as_str)
                .chain([""])
                .map(|peer| name.matches(peer)),
        ),
    }
}

fn why_authenticated(name: Option<&StringMatcher>, caller: &Peer) -> String {
    match (caller, name) {
        (Peer::Plain, None) => "there is no principal: the connection is plain text".to_owned(),
        (Peer::Plain, Some(name)) => {
            format!("principal, which plain text has not, {}", name.verb(false))
        }
        (Peer::Unknown, _) => IDENTITY.to_owned(),
        (Peer::Tls(_), None) => "the connection is TLS".to_owned(),
        (Peer::Tls(peers), Some(name)) => {
            let matching = peers.iter().find(|peer| name.matches(peer) == Tri::Yes);
            let peer = matching.or(peers.first()).map_or("", String::as_str);
            format!("principal `{peer}` {}", name.verb(matching.is_some()))
        }
    }
}

fn filter_state(key: &str, matcher: &StringMatcher, state: &RequestState<'_>) -> Tri {
    match filter_state_value(key, state) {
        Some(value) => matcher.matches(value),
        None if key != PEER_PRINCIPAL => Tri::unknown(format!("the filter state {key}")),
        None if state.caller == Peer::Unknown => Tri::unknown(IDENTITY),
        None => Tri::No,
    }
}

fn filter_state_value<'s>(key: &str, state: &'s RequestState<'_>) -> Option<&'s str> {
    let set = state
        .filter_state
        .iter()
        .rev()
        .find(|(k, _)| k == key)
        .map(|(_, value)| &**value);
    set.or_else(|| match &state.caller {
        Peer::Tls(peers) if key == PEER_PRINCIPAL => peers.first().map(String::as_str),
        _ => None,
    })
}
