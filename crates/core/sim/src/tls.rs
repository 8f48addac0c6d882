//! TLS of a filter chain or a cluster, as far as the configuration decides it.
//!
//! Whether a certificate is signed by a root that the other side trusts, or has expired, is not
//! decided here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Tri;
use super::matcher::{StringMatcher, unmodelled};
use super::request::{Connection, Tls};
use meshladder_capture::envoy::dump::{Dump, ResourceState, Section};
use meshladder_text::json::Raw;

/// What stands between the bytes of a connection and the filters
/// (`envoy.config.core.v3.TransportSocket`).
#[derive(Debug)]
pub enum Transport<'a> {
    /// The bytes as they are.
    Plain,
    /// TLS.
    Tls(TlsContext<'a>),
    /// Something else.
    Unmodelled(Box<str>),
}

/// A `DownstreamTlsContext` or `UpstreamTlsContext`.
#[derive(Debug)]
pub struct TlsContext<'a> {
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
    /// `alpn_protocols`, in order.
    pub alpn: Vec<Cow<'a, str>>,
    /// The server name that a client asks for.
    pub sni: Option<Cow<'a, str>>,
    /// Whether it has a certificate of its own to show.
    pub has_certificate: bool,
    /// Whether it looks at the other side's certificate.
    pub validates: bool,
    /// "If specified, Envoy will reject connections without a valid client certificate." It also
    /// does so where it demands names or digests of certificates.
    pub require_client_certificate: bool,
    /// Names of which the other side's certificate must have one; empty for no such demand.
    pub subject_alt_names: Vec<SubjectAltName>,
    /// Trust domains of which the other side's must be one; empty for no such demand.
    pub trust_domains: Vec<Cow<'a, str>>,
    /// The secrets that SDS must deliver first: certificates, then roots.
    pub secrets: Vec<Cow<'a, str>>,
}

/// A name that the other side's certificate may have.
#[derive(Debug)]
pub enum SubjectAltName {
    /// A URI.
    Uri(StringMatcher),
    /// A name of another kind: of those nothing is known.
    Other,
}

/// The secrets that SDS has delivered.
#[derive(Debug, Default)]
pub struct Secrets<'a>(Option<BTreeSet<Cow<'a, str>>>);

/// What becomes of a client's first bytes at a filter chain.
#[derive(Debug)]
pub enum Handshake<'c> {
    /// The chain's filters get the bytes as the client sends them.
    Plain {
        /// Whether those are TLS. A connection manager takes that for broken HTTP and answers 400,
        /// `DPE`, `http1.codec_error`, which a TLS client reports as `WRONG_VERSION_NUMBER`.
        speaks_tls: bool,
    },
    /// TLS ends here.
    Terminated {
        /// The application protocol that both agree on.
        alpn: Option<&'c str>,
        /// The URI SANs of the client's certificate; none when it was not asked for one or has
        /// none.
        peer: Option<&'c [String]>,
    },
    /// The connection is closed.
    Failed {
        /// What Envoy's transport failure reason contains.
        reason: &'static str,
        /// In words.
        why: String,
    },
    /// It cannot be told without this fact.
    Unknown(Box<str>),
}

impl<'a> Transport<'a> {
    /// Reads the `transport_socket` of a chain or cluster; without one the bytes stay as they are.
    pub fn compile(socket: Option<Raw<'a>>) -> Self {
        let Some(socket) = socket else {
            return Self::Plain;
        };
        let name = socket.string_at("name").unwrap_or_default();
        let config = socket.get("typed_config");
        let url = config
            .and_then(|config| config.string_at("@type"))
            .unwrap_or_default();
        match (url.rsplit('.').next().unwrap_or_default(), config) {
            ("RawBuffer", _) => Self::Plain,
            ("DownstreamTlsContext" | "UpstreamTlsContext", Some(config)) => {
                Self::Tls(TlsContext::read(config))
            }
            // These carry something along with the bytes of the socket inside.
            (
                "InternalUpstreamTransport" | "ProxyProtocolUpstreamTransport" | "Tap",
                Some(config),
            ) => Self::compile(config.get("transport_socket")),
            _ if name == "envoy.transport_sockets.raw_buffer" || name == "raw_buffer" => {
                Self::Plain
            }
            _ => Self::Unmodelled(unmodelled(&format!("the transport socket {name}"))),
        }
    }

    /// What becomes of a client's first bytes.
    pub fn accept<'c>(
        &'c self,
        connection: &'c Connection,
        secrets: &Secrets<'_>,
    ) -> Handshake<'c> {
        match (self, &connection.tls) {
            (Self::Plain, tls) => Handshake::Plain {
                speaks_tls: tls.is_some(),
            },
            (Self::Unmodelled(fact), _) => Handshake::Unknown(fact.clone()),
            (Self::Tls(context), tls) => {
                context.accept(tls.as_ref(), connection.plain_http, secrets)
            }
        }
    }
}

impl<'a> TlsContext<'a> {
    fn read(context: Raw<'a>) -> Self {
        let common = context.get("common_tls_context");
        let field = |key| common.and_then(|common| common.get(key));
        let texts = |list: Option<Raw<'a>>| {
            list.into_iter()
                .flat_map(Raw::elements)
                .filter_map(Raw::string)
                .collect()
        };
        let sds = field("tls_certificate_sds_secret_configs")
            .into_iter()
            .flat_map(Raw::elements);
        let certificates: Vec<_> = sds.filter_map(|secret| secret.string_at("name")).collect();
        let combined = field("combined_validation_context");
        let inline = field("validation_context")
            .or_else(|| combined.and_then(|c| c.get("default_validation_context")));
        let delivered = field("validation_context_sds_secret_config")
            .or_else(|| combined.and_then(|c| c.get("validation_context_sds_secret_config")));
        Self {
            at: context.offset(),
            alpn: texts(field("alpn_protocols")),
            sni: context.string_at("sni").filter(|sni| !sni.is_empty()),
            has_certificate: !certificates.is_empty() || field("tls_certificates").is_some(),
            validates: inline.or(delivered).is_some(),
            require_client_certificate: context
                .get("require_client_certificate")
                .and_then(Raw::bool)
                == Some(true)
                || inline.is_some_and(demands_a_certificate),
            subject_alt_names: inline.map(subject_alt_names).unwrap_or_default(),
            trust_domains: inline.map(trust_domains).unwrap_or_default(),
            secrets: certificates
                .into_iter()
                .chain(delivered.and_then(|secret| secret.string_at("name")))
                .collect(),
        }
    }

    fn accept<'c>(
        &'c self,
        tls: Option<&'c Tls>,
        plain_http: Option<&str>,
        secrets: &Secrets<'_>,
    ) -> Handshake<'c> {
        if let Some(secret) = secrets.missing(self) {
            let why = format!("SDS has not delivered the secret {secret}");
            return Handshake::Failed {
                reason: "Secret_is_not_supplied_by_SDS",
                why,
            };
        }
        let Some(tls) = tls else {
            let reason = if plain_http.is_some_and(|p| p != "h2c") {
                "HTTP_REQUEST"
            } else {
                "WRONG_VERSION_NUMBER"
            };
            return Handshake::Failed {
                reason,
                why: "the client speaks plain text, the chain only TLS".to_owned(),
            };
        };
        let peer = tls.peer.as_deref().filter(|_| self.validates);
        match peer.map(|names| self.trusts(names)) {
            None if self.require_client_certificate => Handshake::Failed {
                reason: "PEER_DID_NOT_RETURN_A_CERTIFICATE",
                why: "the client shows no certificate, and the chain demands one".to_owned(),
            },
            None | Some(Tri::Yes) => Handshake::Terminated {
                alpn: self.negotiate(&tls.alpn),
                peer,
            },
            Some(Tri::No) => Handshake::Failed {
                reason: "CERTIFICATE_VERIFY_FAILED",
                why: format!(
                    "the chain does not take a client named {}",
                    peer.unwrap_or_default().join(", ")
                ),
            },
            Some(Tri::Unknown(fact)) => Handshake::Unknown(fact),
        }
    }

    /// Whether the names in the other side's certificate are among those that are demanded. "If
    /// specified, Envoy will verify that the Subject Alternative Name of the presented certificate
    /// matches one of the specified matchers."
    pub fn trusts(&self, names: &[String]) -> Tri {
        let domain = names
            .iter()
            .find_map(|name| name.strip_prefix("spiffe://")?.split('/').next());
        let is_at_home = || {
            domain.is_some_and(|domain| self.trust_domains.iter().any(|trusted| trusted == domain))
        };
        let has_name = |wanted: &SubjectAltName| match wanted {
            SubjectAltName::Uri(matcher) => {
                Tri::any(names.iter().map(|name| matcher.matches(name)))
            }
            SubjectAltName::Other => Tri::unknown("the DNS names in the other side's certificate"),
        };
        let demands_none = self.subject_alt_names.is_empty().then_some(Tri::Yes);
        let demanded = self
            .subject_alt_names
            .iter()
            .map(has_name)
            .chain(demands_none);
        Tri::all([
            (self.trust_domains.is_empty() || is_at_home()).into(),
            Tri::any(demanded),
        ])
    }

    /// The first protocol of the server's list that the client offers too. Without one the
    /// handshake goes on.
    pub fn negotiate(&self, offered: &[String]) -> Option<&str> {
        self.alpn
            .iter()
            .map(|protocol| &**protocol)
            .find(|protocol| offered.iter().any(|o| o == protocol))
    }
}

impl<'a> Secrets<'a> {
    /// Reads the secrets of a dump that was indexed with [`Section::Secrets`]. A dump without that
    /// section says nothing.
    pub fn compile(dump: &Dump<'a>) -> Self {
        let in_use = dump
            .of(Section::Secrets)
            .filter(|secret| matches!(secret.state, ResourceState::Static | ResourceState::Active));
        let names = in_use.map(|secret| secret.name.clone()).collect();
        Self(dump.section(Section::Secrets).map(|_| names))
    }

    /// The first secret that a context waits for.
    pub fn missing<'c>(&self, context: &'c TlsContext<'_>) -> Option<&'c str> {
        let delivered = self.0.as_ref()?;
        context
            .secrets
            .iter()
            .map(|secret| &**secret)
            .find(|secret| !delivered.contains(*secret))
    }
}

fn demands_a_certificate(validation: Raw<'_>) -> bool {
    const DEMANDS: [&str; 4] = [
        "match_subject_alt_names",
        "match_typed_subject_alt_names",
        "verify_certificate_spki",
        "verify_certificate_hash",
    ];
    validation
        .members()
        .any(|(key, value)| DEMANDS.contains(&&*key) && value.elements().next().is_some())
}

/// The older form takes names of all kinds, and Istio writes URIs there; the newer one says which
/// kind it means.
fn subject_alt_names(validation: Raw<'_>) -> Vec<SubjectAltName> {
    let untyped = validation
        .list("match_subject_alt_names")
        .map(|name| SubjectAltName::Uri(StringMatcher::compile(name)));
    let typed = validation
        .list("match_typed_subject_alt_names")
        .map(|name| {
            let is_uri = name.string_at("san_type").is_some_and(|kind| kind == "URI");
            let matcher = name.get("matcher").filter(|_| is_uri);
            matcher.map_or(SubjectAltName::Other, |matcher| {
                SubjectAltName::Uri(StringMatcher::compile(matcher))
            })
        });
    untyped.chain(typed).collect()
}

/// The trust domains of a `SPIFFECertValidatorConfig`.
fn trust_domains(validation: Raw<'_>) -> Vec<Cow<'_, str>> {
    let config = validation.at(["custom_validator_config", "typed_config"]);
    let domains = config
        .into_iter()
        .flat_map(|config| config.list("trust_domains"));
    domains
        .filter_map(|domain| domain.string_at("name"))
        .collect()
}

#[cfg(test)]
mod tests;
