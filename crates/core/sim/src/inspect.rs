//! What a listener's own filters find out about a connection before a filter chain is chosen.

use std::borrow::Cow;
use std::net::IpAddr;

use super::matcher::unmodelled;
use super::message;
use super::request::Connection;
use meshladder_text::json::Raw;

/// A connection as filter chains see it: a name or protocol that no listener filter looked for is
/// not there.
#[derive(Clone, Debug)]
pub struct InspectedConnection<'r> {
    /// Where the client wanted to go.
    pub destination: (IpAddr, u16),
    /// Where it comes from; none when nobody said.
    pub source: Option<(IpAddr, u16)>,
    /// The other end of the socket: "this will only be different from the source IP address when
    /// using a listener filter that overrides the source address".
    pub direct_source: Option<IpAddr>,
    /// `tls` or `raw_buffer`.
    pub transport_protocol: &'static str,
    /// The server name in lower case; empty when there is none.
    pub server_name: Cow<'r, str>,
    /// What the client offers with TLS, or the HTTP version of plain text.
    pub application_protocols: Protocols<'r>,
}

/// Application protocols, in the client's order.
#[derive(Clone, Copy, Debug)]
pub enum Protocols<'r> {
    /// None was seen.
    None,
    /// The ALPN list.
    Offered(&'r [String]),
    /// What the bytes look like.
    Plain(&'static str),
}

/// The listener filters of one listener, in order (`envoy.config.listener.v3.ListenerFilter`).
#[derive(Debug, Default)]
pub struct ListenerFilters<'a> {
    filters: Vec<ListenerFilter<'a>>,
}

#[derive(Debug)]
struct ListenerFilter<'a> {
    kind: ListenerFilterKind<'a>,
    disabled: Option<Predicate>,
}

#[derive(Debug, PartialEq, Eq)]
enum ListenerFilterKind<'a> {
    OriginalDst,
    TlsInspector,
    HttpInspector,
    /// Changes nothing that filter chains look at.
    Harmless,
    Unmodelled(Cow<'a, str>),
}

/// `envoy.config.listener.v3.ListenerFilterChainMatchPredicate`
#[derive(Debug)]
enum Predicate {
    Or(Vec<Predicate>),
    And(Vec<Predicate>),
    Not(Box<Predicate>),
    Any(bool),
    /// "Match destination port. Particularly, the match evaluation must use the recovered local
    /// port if the owning listener filter is after an `original_dst` listener filter." The end is
    /// not in the range.
    Ports(u64, u64),
}

impl<'r> InspectedConnection<'r> {
    /// A connection that no filter has looked into.
    pub fn unseen(connection: &'r Connection) -> Self {
        Self {
            destination: connection.destination,
            source: connection.source,
            direct_source: connection.source.map(|(ip, _)| ip),
            // "raw_buffer - default, used when no transport protocol is detected".
            transport_protocol: "raw_buffer",
            server_name: Cow::Borrowed(""),
            application_protocols: Protocols::None,
        }
    }
}

impl<'r> Protocols<'r> {
    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = &'r str> {
        let (offered, plain) = match self {
            Self::None => (&[][..], None),
            Self::Offered(list) => (list, None),
            Self::Plain(protocol) => (&[][..], Some(protocol)),
        };
        offered.iter().map(String::as_str).chain(plain)
    }
}

impl<'a> ListenerFilters<'a> {
    /// Reads a listener's `listener_filters`.
    pub fn compile(listener: Raw<'a>) -> Self {
        Self {
            filters: listener
                .list("listener_filters")
                .map(ListenerFilter::read)
                .collect(),
        }
    }

    /// Whether a filter restores the address that the client wanted to reach.
    pub fn restore_destination(&self) -> bool {
        for filter in &self.filters {
            if filter.kind == ListenerFilterKind::OriginalDst {
                return true;
            }
        }
        false
    }

    /// Lets the filters look at the connection. `local_port` is the port at which it arrived: the
    /// one it was redirected to until a filter has restored the original one.
    ///
    /// # Errors
    /// The fact that is missing to tell what the filters see.
    pub fn inspect<'r>(
        &self,
        connection: &'r Connection,
        mut local_port: u16,
        mut seen: InspectedConnection<'r>,
    ) -> Result<InspectedConnection<'r>, Box<str>> {
        // "Order matters as the filters are processed sequentially right after a socket has been
        // accepted by the listener, and before a connection is created."
        for filter in &self.filters {
            if filter.is_disabled(local_port) {
                continue;
            }
            match &filter.kind {
                // From here on predicates see the port that the client wanted.
                ListenerFilterKind::OriginalDst => local_port = connection.destination.1,
                ListenerFilterKind::TlsInspector => inspect_tls(connection, &mut seen),
                ListenerFilterKind::HttpInspector => inspect_http(connection, &mut seen),
                ListenerFilterKind::Harmless => {}
                ListenerFilterKind::Unmodelled(name) => {
                    return Err(unmodelled(&format!("the listener filter {name}")));
                }
            }
        }
        Ok(seen)
    }
}

/// "TLS Inspector listener filter allows detecting whether the transport appears to be TLS or
/// plaintext, and if it is TLS, it detects the Server Name Indication and/or Application-Layer
/// Protocol Negotiation from the client."
fn inspect_tls<'r>(connection: &'r Connection, seen: &mut InspectedConnection<'r>) {
    let Some(tls) = &connection.tls else { return };
    seen.transport_protocol = "tls";

    // An empty name is none: what an earlier listener has seen stays.
    let sni = tls.sni.as_deref().unwrap_or_default();
    if !sni.is_empty() {
        seen.server_name = lower_case(sni);
    }
    if !tls.alpn.is_empty() {
        seen.application_protocols = Protocols::Offered(&tls.alpn);
    }
}

/// "HTTP Inspector listener filter allows detecting whether the application protocol appears to be
/// HTTP, and if it is HTTP, it detects the HTTP protocol (HTTP/1.x or HTTP/2) further." It does
/// nothing once TLS was seen.
fn inspect_http<'r>(connection: &'r Connection, seen: &mut InspectedConnection<'r>) {
    // Its bytes are encrypted, or another filter has said so.
    if seen.transport_protocol == "tls" || connection.tls.is_some() {
        return;
    }
    if let Some(protocol) = connection.plain_http {
        seen.application_protocols = Protocols::Plain(protocol);
    }
}

/// `tls_inspector` out of the type of its configuration, or out of its name.
fn short_name<'n>(type_url: &'n str, name: &'n str) -> &'n str {
    const TYPE: &str = "type.googleapis.com/envoy.extensions.filters.listener.";
    match type_url.strip_prefix(TYPE) {
        Some(message) => message.split('.').next().unwrap_or_default(),
        None => name
            .strip_prefix("envoy.filters.listener.")
            .unwrap_or_default(),
    }
}

fn lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

impl<'a> ListenerFilter<'a> {
    fn read(filter: Raw<'a>) -> Self {
        let name = message::text(filter, "name");
        Self {
            kind: match filter.get("typed_config") {
                Some(config) => ListenerFilterKind::read(config, name),
                None => ListenerFilterKind::of("", name),
            },
            disabled: filter.get("filter_disabled").map(Predicate::read),
        }
    }

    /// "filter_disabled: Optional match predicate used to disable the filter. The filter is enabled when
    /// this field is empty."
    fn is_disabled(&self, local_port: u16) -> bool {
        match &self.disabled {
            Some(predicate) => predicate.holds(local_port),
            None => false,
        }
    }
}

impl<'a> ListenerFilterKind<'a> {
    fn read(config: Raw<'a>, name: Cow<'a, str>) -> Self {
        // With this a tls_inspector ends what is not TLS.
        if message::flag(config, "close_connection_on_client_hello_parsing_errors") {
            return Self::Unmodelled(name);
        }
        Self::of(&message::text(config, "@type"), name)
    }

    /// A filter is what its configuration's type says; one without configuration is known by its
    /// name.
    fn of(type_url: &str, name: Cow<'a, str>) -> Self {
        match short_name(type_url, &name) {
            "original_dst" => Self::OriginalDst,
            "tls_inspector" => Self::TlsInspector,
            "http_inspector" => Self::HttpInspector,
            "original_src" => Self::Harmless,
            _ => Self::Unmodelled(name),
        }
    }
}

impl Predicate {
    fn read(predicate: Raw<'_>) -> Self {
        let Some((kind, value)) = predicate.members().next() else {
            return Self::Any(false);
        };
        match &*kind {
            "or_match" => Self::Or(Self::read_rules(value)),
            "and_match" => Self::And(Self::read_rules(value)),
            "not_match" => Self::Not(Box::new(Self::read(value))),
            "any_match" => Self::Any(value.bool() == Some(true)),
            "destination_port_range" => Self::Ports(
                message::number(value, "start"),
                message::number(value, "end"),
            ),
            _ => Self::Any(false),
        }
    }

    /// `MatchSet`
    fn read_rules(set: Raw<'_>) -> Vec<Self> {
        set.list("rules").map(Self::read).collect()
    }

    fn holds(&self, local_port: u16) -> bool {
        match self {
            Self::Or(rules) => rules.iter().any(|rule| rule.holds(local_port)),
            Self::And(rules) => rules.iter().all(|rule| rule.holds(local_port)),
            Self::Not(rule) => !rule.holds(local_port),
            Self::Any(holds) => *holds,
            Self::Ports(start, end) => (*start..*end).contains(&u64::from(local_port)),
        }
    }
}

#[cfg(test)]
mod tests;
