//! TLS of a filter chain or a cluster, as far as the configuration decides it.
//!
//! Whether a certificate is signed by a root that the other side trusts, or has expired, is not
//! decided here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Tri;
use super::matcher::{StringMatcher, unmodelled};
use super::message;
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
        let name = message::text(socket, "name");
        if let Some(config) = socket.get("typed_config") {
            let url = message::text(config, "@type");
            match url.rsplit('.').next().unwrap_or_default() {
                // The type of the configuration tells more than a name that anybody may choose.
                "RawBuffer" => return Self::Plain,
                "DownstreamTlsContext" | "UpstreamTlsContext" => {
                    return Self::Tls(TlsContext::read(config));
                }
                // These carry something along with the bytes of the socket inside.
                "InternalUpstreamTransport" | "ProxyProtocolUpstreamTransport" | "Tap" => {
                    return Self::compile(config.get("transport_socket"));
                }
                _ => {}
            }
        }
        if name == "envoy.transport_sockets.raw_buffer" || name == "raw_buffer" {
            return Self::Plain;
        }
        Self::Unmodelled(unmodelled(&format!("the transport socket {name}")))
    }

    /// What becomes of a client's first bytes.
    pub fn accept<'c>(
        &'c self,
        connection: &'c Connection,
        secrets: &Secrets<'_>,
    ) -> Handshake<'c> {
        match self {
            Self::Plain => Handshake::Plain {
                speaks_tls: connection.tls.is_some(),
            },
            Self::Tls(context) => context.accept(connection, secrets),
            Self::Unmodelled(fact) => Handshake::Unknown(fact.clone()),
        }
    }
}

impl<'a> TlsContext<'a> {
    fn read(context: Raw<'a>) -> Self {
        let mut tls = Self {
            at: context.offset(),
            alpn: Vec::new(),
            sni: context.string_at("sni").filter(|sni| !sni.is_empty()),
            has_certificate: false,
            validates: false,
            require_client_certificate: message::flag(context, "require_client_certificate"),
            subject_alt_names: Vec::new(),
            trust_domains: Vec::new(),
            secrets: Vec::new(),
        };
        let Some(common) = context.get("common_tls_context") else {
            return tls;
        };
        tls.alpn = message::texts(common, "alpn_protocols");
        for secret in common.list("tls_certificate_sds_secret_configs") {
            tls.secrets.extend(secret.string_at("name"));
        }
        tls.has_certificate = !tls.secrets.is_empty() || common.get("tls_certificates").is_some();

        // What is written down and what SDS delivers are merged.
        let combined = common.get("combined_validation_context");
        let inline = common
            .get("validation_context")
            .or(combined.and_then(|both| both.get("default_validation_context")));
        let delivered = common
            .get("validation_context_sds_secret_config")
            .or(combined.and_then(|both| both.get("validation_context_sds_secret_config")));
        tls.validates = inline.is_some() || delivered.is_some();
        if let Some(validation) = inline {
            tls.read_validation(validation);
        }
        if let Some(secret) = delivered {
            tls.secrets.extend(secret.string_at("name"));
        }
        tls
    }

    /// Reads a `CertificateValidationContext`.
    fn read_validation(&mut self, validation: Raw<'a>) {
        if demands_a_certificate(validation) {
            self.require_client_certificate = true;
        }
        self.subject_alt_names = subject_alt_names(validation);
        self.trust_domains = trust_domains(validation);
    }

    fn accept<'c>(&'c self, connection: &'c Connection, secrets: &Secrets<'_>) -> Handshake<'c> {
        // A listener without its certificate closes every connection.
        if let Some(secret) = secrets.missing(self) {
            return Handshake::Failed {
                reason: "Secret_is_not_supplied_by_SDS",
                why: format!("SDS has not delivered the secret {secret}"),
            };
        }
        match &connection.tls {
            Some(tls) => self.shake(tls),
            None => Handshake::Failed {
                reason: plain_text_reason(connection.plain_http),
                why: "the client speaks plain text, the chain only TLS".to_owned(),
            },
        }
    }

    /// What becomes of a client that speaks TLS.
    fn shake<'c>(&'c self, tls: &'c Tls) -> Handshake<'c> {
        // Without validation the client is not asked for a certificate.
        let peer = if self.validates {
            tls.peer.as_deref()
        } else {
            None
        };
        let Some(names) = peer else {
            if self.require_client_certificate {
                return Handshake::Failed {
                    reason: "PEER_DID_NOT_RETURN_A_CERTIFICATE",
                    why: "the client shows no certificate, and the chain demands one".to_owned(),
                };
            }
            return self.terminated(tls, None);
        };
        match self.trusts(names) {
            Tri::Yes => self.terminated(tls, peer),
            Tri::No => Handshake::Failed {
                reason: "CERTIFICATE_VERIFY_FAILED",
                why: format!(
                    "the chain does not take a client named {}",
                    names.join(", ")
                ),
            },
            Tri::Unknown(fact) => Handshake::Unknown(fact),
        }
    }

    fn terminated<'c>(&'c self, tls: &Tls, peer: Option<&'c [String]>) -> Handshake<'c> {
        Handshake::Terminated {
            alpn: self.negotiate(&tls.alpn),
            peer,
        }
    }

    /// Whether the names in the other side's certificate are among those that are demanded.
    pub fn trusts(&self, names: &[String]) -> Tri {
        if !self.trust_domains.is_empty() && !self.is_at_home(names) {
            return Tri::No;
        }
        // "If specified, Envoy will verify that the Subject Alternative Name of the presented
        // certificate matches one of the specified matchers."
        if self.subject_alt_names.is_empty() {
            return Tri::Yes;
        }
        Tri::any(
            self.subject_alt_names
                .iter()
                .map(|wanted| wanted.is_among(names)),
        )
    }

    /// Whether the first SPIFFE name is of a trust domain that is trusted.
    fn is_at_home(&self, names: &[String]) -> bool {
        for name in names {
            let Some(id) = name.strip_prefix("spiffe://") else {
                continue;
            };
            let domain = id.split('/').next().unwrap_or_default();
            return self.trust_domains.iter().any(|trusted| trusted == domain);
        }
        false
    }

    /// The first protocol of the server's list that the client offers too. Without one the
    /// handshake goes on.
    pub fn negotiate(&self, offered: &[String]) -> Option<&str> {
        // The server's order counts, not the client's.
        self.alpn
            .iter()
            .find(|&protocol| offered.iter().any(|offer| offer == protocol))
            .map(|v| v as _)
    }
}

impl<'a> Secrets<'a> {
    /// Reads the secrets of a dump that was indexed with [`Section::Secrets`]. A dump without that
    /// section says nothing.
    pub fn compile(dump: &Dump<'a>) -> Self {
        if dump.section(Section::Secrets).is_none() {
            return Self(None);
        }
        let mut names = BTreeSet::new();
        for secret in dump.of(Section::Secrets) {
            if matches!(secret.state, ResourceState::Static | ResourceState::Active) {
                names.insert(secret.name.clone());
            }
        }
        Self(Some(names))
    }

    /// The first secret that a context waits for.
    pub fn missing<'c>(&self, context: &'c TlsContext<'_>) -> Option<&'c str> {
        let delivered = self.0.as_ref()?;
        context
            .secrets
            .iter()
            .find(|&secret| !delivered.contains(&**secret))
            .map(|v| v as _)
    }
}

fn demands_a_certificate(validation: Raw<'_>) -> bool {
    const DEMANDS: [&str; 4] = [
        "match_subject_alt_names",
        "match_typed_subject_alt_names",
        "verify_certificate_spki",
        "verify_certificate_hash",
    ];
    for (key, value) in validation.members() {
        if DEMANDS.contains(&&*key) && value.elements().next().is_some() {
            return true;
        }
    }
    false
}

/// How BoringSSL names bytes that are no TLS: it knows HTTP/1 when it sees it.
fn plain_text_reason(plain_http: Option<&str>) -> &'static str {
    match plain_http {
        None | Some("h2c") => "WRONG_VERSION_NUMBER",
        Some(_) => "HTTP_REQUEST",
    }
}

/// The older form takes names of all kinds, and Istio writes URIs there; the newer one says which
/// kind it means.
fn subject_alt_names(validation: Raw<'_>) -> Vec<SubjectAltName> {
    let mut names = Vec::new();
    for name in validation.list("match_subject_alt_names") {
        names.push(SubjectAltName::Uri(StringMatcher::compile(name)));
    }
    for name in validation.list("match_typed_subject_alt_names") {
        names.push(match name.get("matcher") {
            Some(matcher) if message::text(name, "san_type") == "URI" => {
                SubjectAltName::Uri(StringMatcher::compile(matcher))
            }
            _ => SubjectAltName::Other,
        });
    }
    names
}

impl SubjectAltName {
    fn is_among(&self, names: &[String]) -> Tri {
        match self {
            Self::Uri(matcher) => Tri::any(names.iter().map(|name| matcher.matches(name))),
            Self::Other => Tri::unknown("the DNS names in the other side's certificate"),
        }
    }
}

/// The trust domains of a `SPIFFECertValidatorConfig`.
fn trust_domains(validation: Raw<'_>) -> Vec<Cow<'_, str>> {
    let mut names = Vec::new();
    if let Some(config) = validation.at(["custom_validator_config", "typed_config"]) {
        for domain in config.list("trust_domains") {
            names.extend(domain.string_at("name"));
        }
    }
    names
}

#[cfg(test)]
mod tests;
