//! Facts about a cluster that are shown but decide nothing here.

use std::borrow::Cow;

use super::Cluster;
use super::balance::ClusterChoice;
use crate::matcher::unmodelled;
use meshladder_text::json::Raw;

/// Which HTTP a cluster speaks to its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
    /// What the client speaks.
    AsClient,
    /// What the endpoint agrees to by ALPN.
    Negotiated,
}

/// The circuit breaker's limits (`CircuitBreakers.Thresholds`) of the default priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// `max_connections`
    pub connections: u64,
    /// `max_pending_requests`
    pub pending_requests: u64,
    /// `max_requests`
    pub requests: u64,
    /// `max_retries`
    pub retries: u64,
}

impl<'a> Cluster<'a> {
    /// `connect_timeout`, as the dump writes it; "if not set, a default value of 5s will be used".
    pub fn connect_timeout(&self) -> Cow<'a, str> {
        self.raw
            .string_at("connect_timeout")
            .unwrap_or(Cow::Borrowed("5s"))
    }

    /// The limits at which requests end with `UO`. Envoy's defaults are 1024 and 3 retries.
    pub fn thresholds(&self) -> Thresholds {
        let all = self
            .raw
            .get("circuit_breakers")
            .into_iter()
            .flat_map(|breakers| breakers.list("thresholds"));
        let default = all
            .into_iter()
            .find(|t| t.string_at("priority").is_none_or(|p| p == "DEFAULT"));
        let number = |key, otherwise| {
            default
                .and_then(|t| t.get(key)?.number())
                .unwrap_or(otherwise)
        };
        Thresholds {
            connections: number("max_connections", 1024),
            pending_requests: number("max_pending_requests", 1024),
            requests: number("max_requests", 1024),
            retries: number("max_retries", 3),
        }
    }

    /// The `OutlierDetection`, when there is one.
    pub fn outlier_detection(&self) -> Option<Raw<'a>> {
        self.raw.get("outlier_detection")
    }

    /// The address that its connections come from, when it is fixed: Istio uses 127.0.0.6 towards
    /// the application.
    pub fn source_address(&self) -> Option<Cow<'a, str>> {
        self.raw
            .at(["upstream_bind_config", "source_address"])?
            .string_at("address")
    }

    /// Which HTTP it speaks.
    pub fn protocol(&self) -> Protocol {
        *self.protocol.get_or_init(|| self.read_protocol())
    }

    fn read_protocol(&self) -> Protocol {
        let options = self.raw.get("typed_extension_protocol_options");
        let options = options
            .and_then(|all| all.get("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"));
        let Some(options) = options else {
            return match self.raw.string_at("protocol_selection").as_deref() {
                Some("USE_DOWNSTREAM_PROTOCOL") => Protocol::AsClient,
                _ if self.raw.get("http2_protocol_options").is_some() => Protocol::Http2,
                _ => Protocol::Http1,
            };
        };
        let explicit = options.get("explicit_http_config");
        let has = |key| explicit.is_some_and(|config| config.get(key).is_some());
        match () {
            () if options.get("use_downstream_protocol_config").is_some() => Protocol::AsClient,
            () if options.get("auto_config").is_some() => Protocol::Negotiated,
            () if has("http2_protocol_options") => Protocol::Http2,
            () if has("http3_protocol_options") => Protocol::Http3,
            () => Protocol::Http1,
        }
    }
}

/// What a cluster of type `ORIGINAL_DST` does (`OriginalDstLbConfig`).
pub(super) fn original_destination(config: Option<Raw<'_>>) -> ClusterChoice {
    let by_request = |config: Raw<'_>| {
        config.get("use_http_header").and_then(Raw::bool) == Some(true)
            || config.get("metadata_key").is_some()
    };
    if config.is_some_and(by_request) {
        return ClusterChoice::Unknown(unmodelled(
            "a request header or metadata that names the endpoint",
        ));
    }
    let port = config.and_then(|config| config.get("upstream_port_override")?.number());
    ClusterChoice::Original(port.and_then(|port| u16::try_from(port).ok()))
}
