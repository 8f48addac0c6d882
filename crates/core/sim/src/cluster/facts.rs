//! Facts about a cluster that are shown but decide nothing here.

use std::borrow::Cow;

use super::Cluster;
use super::balance::ClusterChoice;
use crate::matcher::unmodelled;
use crate::message;
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
        let timeout = self.raw.string_at("connect_timeout");
        timeout.unwrap_or(Cow::Borrowed("5s"))
    }

    /// The limits at which requests end with `UO`. Envoy's defaults are 1024 and 3 retries.
    pub fn thresholds(&self) -> Thresholds {
        let mut thresholds = Thresholds {
            connections: 1024,
            pending_requests: 1024,
            requests: 1024,
            retries: 3,
        };
        let Some(limits) = self.default_thresholds() else {
            return thresholds;
        };
        for (key, value) in limits.members() {
            let Some(number) = value.number() else {
                continue;
            };
            match &*key {
                "max_connections" => thresholds.connections = number,
                "max_pending_requests" => thresholds.pending_requests = number,
                "max_requests" => thresholds.requests = number,
                "max_retries" => thresholds.retries = number,
                _ => {}
            }
        }
        thresholds
    }

    /// The first `Thresholds` for requests that are not of high priority.
    fn default_thresholds(&self) -> Option<Raw<'a>> {
        let breakers = self.raw.get("circuit_breakers")?;
        for thresholds in breakers.list("thresholds") {
            match thresholds.string_at("priority").as_deref() {
                None | Some("DEFAULT") => return Some(thresholds),
                Some(_) => {}
            }
        }
        None
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
        const OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
        let Some(options) = self.raw.at(["typed_extension_protocol_options", OPTIONS]) else {
            return self.read_deprecated_protocol();
        };
        // Exactly one of the three says which protocol.
        if options.get("use_downstream_protocol_config").is_some() {
            return Protocol::AsClient;
        }
        if options.get("auto_config").is_some() {
            return Protocol::Negotiated;
        }
        let Some(explicit) = options.get("explicit_http_config") else {
            return Protocol::Http1;
        };
        if explicit.get("http2_protocol_options").is_some() {
            return Protocol::Http2;
        }
        if explicit.get("http3_protocol_options").is_some() {
            return Protocol::Http3;
        }
        Protocol::Http1
    }

    /// The fields that `HttpProtocolOptions` took the place of.
    fn read_deprecated_protocol(&self) -> Protocol {
        if message::text(self.raw, "protocol_selection") == "USE_DOWNSTREAM_PROTOCOL" {
            return Protocol::AsClient;
        }
        if self.raw.get("http2_protocol_options").is_some() {
            return Protocol::Http2;
        }
        Protocol::Http1
    }
}

/// What a cluster of type `ORIGINAL_DST` does (`OriginalDstLbConfig`).
pub(super) fn original_destination(config: Option<Raw<'_>>) -> ClusterChoice {
    let Some(config) = config else {
        return ClusterChoice::Original(None);
    };
    if message::flag(config, "use_http_header") || config.get("metadata_key").is_some() {
        let what = "a request header or metadata that names the endpoint";
        return ClusterChoice::Unknown(unmodelled(what));
    }
    let port = message::optional_number(config, "upstream_port_override");
    ClusterChoice::Original(port.and_then(|port| u16::try_from(port).ok()))
}
