//! The leaves of a policy's trees: what is looked at, and what it must be.

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
                // "start: The start of the range (inclusive)"; "end: The end of the range (exclusive)".
                let start = value.get("start").map_or(0, number);
                let end = value.get("end").map_or(0, number);
                Self::DestinationPort(start..end)
            }
            "requested_server_name" => Self::ServerName(StringMatcher::compile(value)),
            "uri_template" => {
                let template = value.at(["typed_config", "path_template"]);
                match template.and_then(Raw::string) {
                    Some(template) => Self::UriTemplate(UriTemplate::compile(&template)),
                    None => Self::unmodelled(key, value),
                }
            }
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
        let what = match value.string_at("name") {
            Some(name) => format!("the RBAC rule {key} {name}"),
            None => format!("the RBAC rule {key}"),
        };
        Self::Unmodelled(unmodelled(&what))
    }

    /// Whether it holds.
    pub(super) fn matches(&self, state: &RequestState<'_>) -> Tri {
        let (ip, port) = state.request.connection.destination;
        match self {
            Self::Header(matcher) => header(matcher, state),
            // Without HTTP there is no path.
            Self::UrlPath(_) | Self::UriTemplate(_) if !state.is_http => Tri::No,
            Self::UrlPath(matcher) => matcher.matches(path(state)),
            Self::UriTemplate(template) => template.matches(path(state)),
            Self::DestinationIp(range) => range.contains(ip).into(),
            Self::DestinationPort(ports) => ports.contains(&u32::from(port)).into(),
            Self::ServerName(matcher) => matcher.matches(server_name(state)),
            Self::Metadata(matcher) => matcher.matches(state),
            Self::Authenticated(name) => authenticated(name.as_ref(), &state.caller),
            Self::SourceIp(range) => within(*range, &source(state)),
            Self::DirectRemoteIp(range) => within(*range, &state.direct_remote),
            Self::RemoteIp(range) => within(*range, &state.remote),
            Self::FilterState(key, matcher) => filter_state(key, matcher, state),
            Self::Unmodelled(fact) => Tri::Unknown(fact.clone()),
        }
    }

    /// What decided, in words.
    pub(super) fn why(&self, state: &RequestState<'_>) -> String {
        let (ip, port) = state.request.connection.destination;
        let holds = self.matches(state) == Tri::Yes;
        let not = if holds { "" } else { "not " };
        match self {
            Self::Header(matcher) if !state.is_http => {
                format!("header {} is looked at, and this is not HTTP", matcher.name)
            }
            Self::UrlPath(_) | Self::UriTemplate(_) if !state.is_http => {
                "the path is looked at, and this is not HTTP".to_owned()
            }
            Self::Header(matcher) => matcher.why(&state.request),
            Self::UrlPath(matcher) => format!("path `{}` {}", path(state), matcher.verb(holds)),
            Self::UriTemplate(template) => {
                let fits = if holds { "fits" } else { "does not fit" };
                format!("path `{}` {fits} `{}`", path(state), template.source())
            }
            Self::DestinationIp(range) => format!("destination {ip} is {not}in {range}"),
            Self::DestinationPort(Range { start, end }) if end - start == 1 => {
                format!("port {port} is {not}{start}")
            }
            Self::DestinationPort(Range { start, end }) => {
                format!("port {port} is {not}in [{start}, {end})")
            }
            Self::ServerName(matcher) => {
                format!(
                    "server name `{}` {}",
                    server_name(state),
                    matcher.verb(holds)
                )
            }
            Self::Metadata(matcher) => matcher.why(state),
            Self::Authenticated(name) => why_authenticated(name.as_ref(), &state.caller),
            Self::SourceIp(range) => why_within(*range, &source(state)),
            Self::DirectRemoteIp(range) => why_within(*range, &state.direct_remote),
            Self::RemoteIp(range) => why_within(*range, &state.remote),
            Self::FilterState(key, matcher) => match filter_state_value(key, state) {
                Some(value) => format!("filter state {key} `{value}` {}", matcher.verb(holds)),
                None => format!("filter state {key} is absent"),
            },
            Self::Unmodelled(fact) => fact.to_string(),
        }
    }
}

fn path<'s>(state: &'s RequestState<'_>) -> &'s str {
    without_query_and_fragment(&state.request.path)
}

fn source(state: &RequestState<'_>) -> RemoteAddress {
    match state.request.connection.source {
        Some((ip, _)) => Ok(ip),
        None => Err("the source address".into()),
    }
}

fn cidr(value: Raw<'_>, condition: fn(Cidr) -> RbacCondition) -> RbacCondition {
    match Cidr::read(value) {
        Some(range) => condition(range),
        None => RbacCondition::Unmodelled("an address range that is none".into()),
    }
}

fn number(value: Raw<'_>) -> u32 {
    let number = value.number().unwrap_or_default();
    u32::try_from(number).unwrap_or_default()
}

/// Without HTTP there is an empty header map: every header is missing, the pseudo headers too.
fn header(matcher: &HeaderMatcher, state: &RequestState<'_>) -> Tri {
    if state.is_http {
        return matcher.matches(&state.request);
    }
    // No header has an empty name.
    let mut nameless = matcher.clone();
    nameless.name = "".into();
    nameless.matches(&state.request)
}

fn server_name<'s>(state: &'s RequestState<'_>) -> &'s str {
    // "The request server from the client's connection request. This is typically TLS SNI."
    match &state.request.connection.tls {
        Some(tls) => tls.sni.as_deref().unwrap_or_default(),
        None => "",
    }
}

fn within(range: Cidr, address: &RemoteAddress) -> Tri {
    match address {
        Ok(ip) => range.contains(*ip).into(),
        Err(fact) => Tri::Unknown(fact.clone()),
    }
}

fn why_within(range: Cidr, address: &RemoteAddress) -> String {
    match address {
        Ok(ip) if range.contains(*ip) => format!("source {ip} is in {range}"),
        Ok(ip) => format!("source {ip} is not in {range}"),
        Err(fact) => fact.to_string(),
    }
}

const IDENTITY: &str = "the caller's identity";

/// "name is tried on all URI SANs, then DNS SANs, then subject".
fn authenticated(name: Option<&StringMatcher>, caller: &Peer) -> Tri {
    let peers = match caller {
        Peer::Plain => return Tri::No,
        Peer::Unknown => return Tri::unknown(IDENTITY),
        Peer::Tls(peers) => peers,
    };
    let Some(name) = name else { return Tri::Yes };
    // The subject is empty in certificates of a mesh.
    let names = peers.iter().map(String::as_str).chain([""]);
    Tri::any(names.map(|peer| name.matches(peer)))
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
        // Filters that are not modelled may have set any other object.
        None if key != PEER_PRINCIPAL => Tri::unknown(format!("the filter state {key}")),
        None if state.caller == Peer::Unknown => Tri::unknown(IDENTITY),
        None => Tri::No,
    }
}

fn filter_state_value<'s>(key: &str, state: &'s RequestState<'_>) -> Option<&'s str> {
    // The last one that was set counts.
    for (set, value) in state.filter_state.iter().rev() {
        if set == key {
            return Some(value);
        }
    }
    match &state.caller {
        Peer::Tls(peers) if key == PEER_PRINCIPAL => peers.first().map(String::as_str),
        _ => None,
    }
}
