//! How a cluster talks to each of its endpoints.

use super::endpoint::Endpoint;
use crate::matcher::unmodelled;
use crate::tls::{TlsContext, Transport};
use meshladder_text::json::{Raw, ValueKind};

/// The transport sockets of a cluster.
#[derive(Debug)]
pub(super) struct Sockets<'a> {
    /// `transport_socket_matches`, in order.
    matches: Vec<(Option<Raw<'a>>, Transport<'a>)>,
    /// What endpoints get that no match is for.
    otherwise: Transport<'a>,
    /// Whether a matcher tree decides, which is not modelled.
    has_matcher: bool,
}

/// Which of a cluster's transport sockets is used.
#[derive(Clone, Debug)]
pub(super) enum SocketPlace {
    Match(usize),
    Otherwise,
    Unknown(Box<str>),
}

/// What a request travels in, in Istio's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text.
    #[default]
    None,
    /// Mutual TLS with the workload's own certificate.
    Istio,
    /// TLS without a client certificate.
    Simple,
    /// Mutual TLS with another certificate.
    Mutual,
}

impl Default for Sockets<'_> {
    fn default() -> Self {
        Self {
            matches: Vec::new(),
            otherwise: Transport::Plain,
            has_matcher: false,
        }
    }
}

impl<'a> Sockets<'a> {
    /// Reads one of the members of a cluster that are about transport sockets.
    pub(super) fn read(&mut self, key: &str, value: Raw<'a>) {
        match key {
            "transport_socket" => self.otherwise = Transport::compile(Some(value)),
            "transport_socket_matches" => {
                let each = |entry: Raw<'a>| {
                    (
                        entry.get("match"),
                        Transport::compile(entry.get("transport_socket")),
                    )
                };
                self.matches = value.elements().map(each).collect();
            }
            _ => self.has_matcher = true,
        }
    }

    /// The transport of a place that [`Self::place`] gave.
    ///
    /// # Errors
    /// The fact that was missing to tell the place.
    pub(super) fn at(&self, place: &SocketPlace) -> Result<&Transport<'a>, Box<str>> {
        match place {
            SocketPlace::Match(number) => Ok(&self.matches[*number].1),
            SocketPlace::Otherwise => Ok(&self.otherwise),
            SocketPlace::Unknown(fact) => Err(fact.clone()),
        }
    }

    /// "The entry of `envoy.transport_socket_match` in the `LbEndpoint.Metadata` is used to match
    /// against the transport sockets as they appear in the list. If a match is not found, the
    /// search continues in `LocalityLbEndpoints.Metadata`. The first match is used." Without any,
    /// it is `transport_socket`.
    pub(super) fn place_of(&self, endpoint: &Endpoint<'_>) -> SocketPlace {
        match self.place(endpoint.metadata, endpoint.at.is_some()) {
            SocketPlace::Otherwise if endpoint.locality_metadata.is_some() => {
                self.place(endpoint.locality_metadata, true)
            }
            place => place,
        }
    }

    /// The place for an endpoint's metadata, if that is known.
    pub(super) fn place(&self, metadata: Option<Raw<'_>>, is_known: bool) -> SocketPlace {
        if self.has_matcher {
            return SocketPlace::Unknown(unmodelled("the cluster's transport_socket_matcher"));
        }
        for (number, (wanted, _)) in self.matches.iter().enumerate() {
            let takes_all = wanted.is_none_or(|wanted| wanted.members().next().is_none());
            if takes_all || is_known && wanted.is_some_and(|wanted| is_match(wanted, metadata)) {
                return SocketPlace::Match(number);
            }
            if !is_known {
                return SocketPlace::Unknown("the metadata of the endpoint".into());
            }
        }
        SocketPlace::Otherwise
    }
}

fn is_match(wanted: Raw<'_>, metadata: Option<Raw<'_>>) -> bool {
    let given = metadata.and_then(|m| m.at(["filter_metadata", "envoy.transport_socket_match"]));
    let has = |key: &str, value| {
        given
            .and_then(|given| given.get(key))
            .is_some_and(|given| same(given, value))
    };
    wanted.members().all(|(key, value)| has(&key, value))
}

fn same(a: Raw<'_>, b: Raw<'_>) -> bool {
    if a.kind() == ValueKind::String {
        a.string() == b.string()
    } else {
        a.text() == b.text()
    }
}

impl TlsMode {
    /// What a transport stands for; none for a transport that is not modelled.
    pub fn of(transport: &Transport<'_>) -> Option<Self> {
        match transport {
            Transport::Plain => Some(Self::None),
            Transport::Tls(context) => Some(Self::of_tls(context)),
            Transport::Unmodelled(_) => None,
        }
    }

    /// istiod hands out the workload's certificate as the secret `default`.
    fn of_tls(context: &TlsContext<'_>) -> Self {
        match context.has_certificate {
            true if context.secrets.iter().any(|secret| secret == "default") => Self::Istio,
            true => Self::Mutual,
            false => Self::Simple,
        }
    }

    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Istio => "istio-mtls",
            Self::Simple => "simple",
            Self::Mutual => "mutual",
        }
    }
}
