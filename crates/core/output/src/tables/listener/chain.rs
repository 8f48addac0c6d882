//! One filter chain: what it matches and where it leads.

use super::chain_match::ChainMatch;
use crate::tables::route::{describe_match, weighted};
use meshladder_text::json::{Cursor, Raw};

const HTTP: &str = "envoy.filters.network.http_connection_manager";
const TCP: &str = "envoy.filters.network.tcp_proxy";

#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    matches: ChainMatch,
    pub(super) destination: String,
    pub(super) http: bool,
    pub(super) tcp: bool,
}

impl Chain {
    pub(super) fn read(chain: &mut Cursor<'_>) -> Self {
        let mut read = Self::default();
        let mut destination = None;
        chain.members(|key, value| match key {
            "filter_chain_match" => {
                read.matches = value.raw().map(ChainMatch::read).unwrap_or_default();
            }
            "filters" => value.elements(|filter| {
                let Some(filter) = filter.raw() else { return };
                let found = match filter.string_at("name").as_deref() {
                    Some(HTTP) => {
                        read.http = true;
                        filter.get("typed_config").map(describe_http)
                    }
                    // A chain to the black hole takes no traffic, so it makes the listener neither
                    // TCP nor HTTP.
                    Some(TCP) if !filter.text().contains("BlackHoleCluster") => {
                        read.tcp = true;
                        filter.get("typed_config").map(describe_tcp)
                    }
                    _ => None,
                };
                destination = destination.take().or(found);
            }),
            _ => {}
        });
        read.destination = destination.unwrap_or_else(|| "Non-HTTP/Non-TCP".to_owned());
        read
    }

    pub(super) fn matches(&self, wide: bool) -> String {
        self.matches.describe(wide)
    }
}

fn describe_http(manager: Raw<'_>) -> String {
    if let Some(config) = manager.get("route_config") {
        return describe_inline(config);
    }
    match manager
        .at(["rds", "route_config_name"])
        .and_then(Raw::string)
    {
        Some(name) => format!("Route: {name}"),
        None if manager.get("rds").is_some() => "Route: ".to_owned(),
        None => "HTTP".to_owned(),
    }
}

fn describe_inline(config: Raw<'_>) -> String {
    if let Some(cluster) = only_cluster(config) {
        return describe_cluster(&cluster);
    }
    let hosts: Vec<_> = config.list("virtual_hosts").map(describe_host).collect();
    format!("Inline Route: {}", hosts.join("; "))
}

/// The cluster, when everything goes there: one virtual host `*` with one route `/` to one cluster.
fn only_cluster(config: Raw<'_>) -> Option<String> {
    let mut hosts = config.list("virtual_hosts");
    let host = hosts.next()?;
    let mut routes = host.list("routes");
    let route = routes.next()?;
    let lone = hosts.next().is_none() && routes.next().is_none() && domains(host) == ["*"];
    let all_paths = route
        .at(["match", "prefix"])
        .and_then(Raw::string)
        .is_some_and(|p| p == "/");
    if !lone || !all_paths {
        return None;
    }
    Some(route.at(["route", "cluster"])?.string()?.into_owned())
}

fn domains(host: Raw<'_>) -> Vec<String> {
    host.list("domains")
        .filter_map(Raw::string)
        .map(String::from)
        .collect()
}

fn describe_host(host: Raw<'_>) -> String {
    let domains = domains(host);
    let matches: Vec<_> = host
        .list("routes")
        .filter_map(|r| r.get("match"))
        .map(describe_match)
        .collect();
    let matches = matches.join(", ");
    if domains == ["*"] {
        matches
    } else {
        format!("{} {matches}", domains.join("/"))
    }
}

fn describe_tcp(proxy: Raw<'_>) -> String {
    if let Some(cluster) = proxy.string_at("cluster") {
        return describe_cluster(&cluster);
    }
    let weighted: Vec<_> = proxy
        .get("weighted_clusters")
        .into_iter()
        .flat_map(|w| w.list("clusters"))
        .map(weighted)
        .collect();
    format!("Cluster: {}", weighted.join(", "))
}

/// `BlackHoleCluster` and its like need no word before them.
fn describe_cluster(name: &str) -> String {
    if name.contains("Cluster") {
        name.to_owned()
    } else {
        format!("Cluster: {name}")
    }
}
