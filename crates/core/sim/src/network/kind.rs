//! What a network filter does, told by the type of its configuration.

use std::borrow::Cow;

use super::TcpBranch;
use crate::message;
use meshladder_text::json::Raw;

/// What a network filter does.
#[derive(Debug)]
pub enum NetworkFilterKind<'a> {
    /// It takes the connection for HTTP.
    HttpConnectionManager,
    /// It forwards the connection.
    TcpProxy(TcpProxy<'a>),
    /// It lets the connection pass or closes it.
    Rbac,
    /// "A network filter that uses the SNI value in a TLS connection as the upstream cluster name.
    /// The filter will not modify the upstream cluster for non-TLS connections."
    SniCluster,
    /// It counts, logs or adds metadata, and changes nothing of what comes after it.
    Observes,
    /// It answers a new connection and closes it.
    Answers,
    /// It decides something, and how is not modelled.
    Unmodelled,
}

/// `envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy`
#[derive(Debug, Default)]
pub struct TcpProxy<'a> {
    clusters: Vec<ProxyCluster<'a>>,
}

/// A cluster that a `TcpProxy` names.
#[derive(Debug)]
struct ProxyCluster<'a> {
    name: Cow<'a, str>,
    weight: u64,
    at: usize,
}

/// Proxies for one protocol that stand before `tcp_proxy`, and Istio's own.
const OBSERVERS: [&str; 9] = [
    "envoy.filters.network.mysql_proxy",
    "envoy.filters.network.mongo_proxy",
    "envoy.filters.network.postgres_proxy",
    "envoy.filters.network.zookeeper_proxy",
    "envoy.filters.network.metadata_exchange",
    "envoy.filters.network.upstream.metadata_exchange",
    "istio.metadata_exchange",
    "istio.stats",
    "istio_authn",
];

/// The type and the configuration of a filter, out of its `TypedStruct` where it is in one.
pub(super) fn typed(config: Option<Raw<'_>>) -> (Cow<'_, str>, Option<Raw<'_>>) {
    let Some(raw) = config else {
        return (Cow::default(), None);
    };
    let url = message::text(raw, "@type");
    if url.ends_with(".TypedStruct") {
        return (message::text(raw, "type_url"), raw.get("value"));
    }
    (url, config)
}

impl<'a> NetworkFilterKind<'a> {
    pub(super) fn of(url: &str, name: &str, config: Option<Raw<'a>>) -> Self {
        const TYPE: &str = "type.googleapis.com/envoy.extensions.filters.network.";
        let message = url.strip_prefix(TYPE).unwrap_or_default();
        match message.split('.').next().unwrap_or_default() {
            "http_connection_manager" => Self::HttpConnectionManager,
            "tcp_proxy" => Self::TcpProxy(config.map(TcpProxy::read).unwrap_or_default()),
            "rbac" => Self::Rbac,
            "sni_cluster" => Self::SniCluster,
            "direct_response" => Self::Answers,
            "mysql_proxy" | "mongo_proxy" | "postgres_proxy" | "zookeeper_proxy" => Self::Observes,
            "set_filter_state" if !sets_cluster(config) => Self::Observes,
            "" if OBSERVERS.contains(&name) => Self::Observes,
            _ => Self::Unmodelled,
        }
    }
}

impl<'a> TcpProxy<'a> {
    fn read(config: Raw<'a>) -> Self {
        let mut clusters = Vec::new();
        if let Some(cluster) = config.get("cluster") {
            clusters.push(ProxyCluster {
                name: cluster.string().unwrap_or_default(),
                weight: 1,
                at: cluster.offset(),
            });
        }

        if let Some(weighted) = config.get("weighted_clusters") {
            for entry in weighted.list("clusters") {
                clusters.push(ProxyCluster {
                    name: message::text(entry, "name"),
                    weight: message::number(entry, "weight"),
                    at: entry.offset(),
                });
            }
        }
        Self { clusters }
    }

    /// The clusters with their shares; a cluster that an earlier filter has set comes before those
    /// of the configuration.
    pub(super) fn branches<'c>(&'c self, set: Option<&'c str>) -> Vec<TcpBranch<'c>> {
        if let Some(cluster) = set {
            return vec![TcpBranch {
                cluster: cluster.into(),
                weight: 1,
                total: 1,
                at: self.clusters.first().map_or(0, |first| first.at),
            }];
        }

        // Weights of a `TcpProxy` are relative to their sum.
        let total = self.clusters.iter().map(|cluster| cluster.weight).sum();
        let mut branches = Vec::new();
        for cluster in &self.clusters {
            if cluster.weight == 0 {
                continue;
            }
            branches.push(TcpBranch {
                cluster: Cow::Borrowed(&*cluster.name),
                weight: cluster.weight,
                total,
                at: cluster.at,
            });
        }
        branches
    }
}

/// Only this object of the filter state changes where a connection goes.
fn sets_cluster(set_filter_state: Option<Raw<'_>>) -> bool {
    match set_filter_state {
        Some(config) => config.text().contains("envoy.tcp_proxy.cluster"),
        None => false,
    }
}
