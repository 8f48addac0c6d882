//! `/debug/syncz`: which proxies an istiod serves, and whether each has acknowledged what it was
//! sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use meshladder_text::json::{Raw, TextFault, ValueKind};

/// One connection of a proxy to an istiod.
#[derive(Clone, Debug, Default)]
pub struct XdsConnection<'a> {
    /// Byte offset in the answer.
    pub at: usize,
    /// `pod.namespace`.
    pub proxy: Cow<'a, str>,
    /// The cluster the proxy is in.
    pub cluster: Cow<'a, str>,
    /// The proxy's Istio version.
    pub version: Cow<'a, str>,
    /// `sidecar`, `router`, `waypoint`, `ztunnel`; empty for a client that is no proxy.
    pub proxy_type: Cow<'a, str>,
    /// Per type URL, in order.
    pub types: BTreeMap<Cow<'a, str>, TypeSync<'a>>,
}

/// One resource type a proxy has subscribed to.
#[derive(Clone, Debug, Default)]
pub struct TypeSync<'a> {
    /// Nonce of the last push; empty when nothing was sent.
    pub sent: Cow<'a, str>,
    /// Nonce of the last acknowledgement.
    pub acked: Cow<'a, str>,
    /// When the last push was sent, RFC 3339.
    pub sent_time: Cow<'a, str>,
    /// The proxy's words, when it refused the last push.
    pub last_error: Cow<'a, str>,
}

/// istiod's answer to "does the proxy have it?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncStatus {
    /// The proxy acknowledged the last push.
    Synced,
    /// Sent, and not acknowledged (yet).
    Stale,
    /// Subscribed, and nothing sent.
    NotSent,
    /// The proxy refused the last push.
    Error,
    /// Not subscribed.
    Ignored,
}

impl TypeSync<'_> {
    /// In the order istiod decides it: an error first, then whether anything was sent, then the
    /// nonces.
    pub fn sync(&self) -> SyncStatus {
        if !self.last_error.is_empty() {
            SyncStatus::Error
        } else if self.sent.is_empty() {
            SyncStatus::NotSent
        } else if self.acked == self.sent {
            SyncStatus::Synced
        } else {
            SyncStatus::Stale
        }
    }
}

impl SyncStatus {
    /// The word of the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Synced => "SYNCED",
            Self::Stale => "STALE",
            Self::NotSent => "NOT SENT",
            Self::Error => "ERROR",
            Self::Ignored => "IGNORED",
        }
    }

    /// The name in `envoy.service.status.v3.ConfigStatus`.
    pub fn config_status(self) -> &'static str {
        match self {
            Self::NotSent => "NOT_SENT",
            Self::Ignored => "UNKNOWN",
            other => other.word(),
        }
    }
}

/// Reads the answer; what came before a fault is kept.
///
/// # Errors
/// When the document is no list of connections.
pub fn read(doc: &str) -> Result<(Vec<XdsConnection<'_>>, Option<TextFault>), TextFault> {
    let root = Raw::of(doc)?;
    // An istiod that serves nobody answers `null`.
    if root.text().trim_end() == "null" {
        return Ok((Vec::new(), None));
    }
    if root.kind() != ValueKind::Array {
        return Err(TextFault::new(
            root.offset(),
            "not an answer of /debug/syncz: no list of proxies",
        ));
    }
    let mut connections = Vec::new();
    let mut elements = root.elements();
    for element in elements.by_ref() {
        let connection = connection(element);
        if !connection.proxy.is_empty() {
            connections.push(connection);
        }
    }
    Ok((connections, elements.fault().cloned()))
}

fn connection(raw: Raw<'_>) -> XdsConnection<'_> {
    let mut connection = XdsConnection {
        at: raw.offset(),
        ..XdsConnection::default()
    };
    let mut legacy: BTreeMap<&str, TypeSync<'_>> = BTreeMap::new();
    for (key, value) in raw.members() {
        let text = value.string().unwrap_or_default();
        match &*key {
            "proxy" => connection.proxy = text,
            "cluster_id" => connection.cluster = text,
            "istio_version" => connection.version = text,
            "proxy_type" => connection.proxy_type = text,
            "resources" => {
                for (url, sync) in value.members() {
                    connection.types.insert(url, type_sync(sync));
                }
            }
            other => match legacy_field(other) {
                Some((url, true)) => legacy.entry(url).or_default().sent = text,
                Some((url, false)) => legacy.entry(url).or_default().acked = text,
                None => {}
            },
        }
    }
    // Istio before 1.23 has only these fields; a type with neither nonce is not subscribed.
    if connection.types.is_empty() {
        for (url, sync) in legacy {
            if !sync.sent.is_empty() || !sync.acked.is_empty() {
                connection.types.insert(url.into(), sync);
            }
        }
    }
    connection
}

fn type_sync(raw: Raw<'_>) -> TypeSync<'_> {
    let text = |key| raw.string_at(key).unwrap_or_default();
    TypeSync {
        sent: text("sent"),
        acked: text("acked"),
        sent_time: text("sentTime"),
        last_error: text("lastError"),
    }
}

/// The type URL of `cluster_sent` and its like, and whether it is the sent one.
fn legacy_field(key: &str) -> Option<(&'static str, bool)> {
    let (prefix, sent) = match key.strip_suffix("_sent") {
        Some(prefix) => (prefix, true),
        None => (key.strip_suffix("_acked")?, false),
    };
    let url = match prefix {
        "cluster" => "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "listener" => "type.googleapis.com/envoy.config.listener.v3.Listener",
        "route" => "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
        "endpoint" => "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "extensionconfig" => "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        _ => return None,
    };
    Some((url, sent))
}

/// The short name of a resource type; unknown ones keep their URL.
pub fn short_type(url: &str) -> &str {
    match url.strip_prefix("type.googleapis.com/").unwrap_or(url) {
        "envoy.config.cluster.v3.Cluster" => "CDS",
        "envoy.config.listener.v3.Listener" => "LDS",
        "envoy.config.endpoint.v3.ClusterLoadAssignment" => "EDS",
        "envoy.config.route.v3.RouteConfiguration" => "RDS",
        "envoy.config.core.v3.TypedExtensionConfig" => "ECDS",
        "envoy.extensions.transport_sockets.tls.v3.Secret" => "SDS",
        "istio.networking.nds.v1.NameTable" => "NDS",
        "istio.mesh.v1alpha1.ProxyConfig" => "PCDS",
        "istio.workload.Address" | "istio.workload.Workload" => "WDS",
        "istio.security.Authorization" => "WADS",
        _ => url,
    }
}

#[cfg(test)]
mod tests;
