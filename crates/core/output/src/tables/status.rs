//! `proxy-status`: every istiod's view of every proxy, merged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Table, age::human};
use crate::json::to_pretty;
use meshladder_capture::istiod::syncz::{SyncStatus, TypeSync, XdsConnection, short_type};
use meshladder_text::time::Time;
use serde::Serialize;

/// A proxy's connection and the istiod that has it.
#[derive(Clone, Debug)]
pub struct ProxyStatusRow<'a> {
    /// The istiod's pod.
    pub istiod: String,
    /// Its revision, when known.
    pub revision: String,
    /// The connection.
    pub connection: XdsConnection<'a>,
}

/// The types every sidecar has, in the order people think of them; each has a column even when
/// nobody subscribed.
const USUAL: [&str; 4] = [
    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "type.googleapis.com/envoy.config.listener.v3.Listener",
    "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
];
const ECDS: &str = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

/// Rows of proxies in `namespace` (all without one), sorted by proxy, then istiod.
pub fn select<'a>(
    rows: Vec<ProxyStatusRow<'a>>,
    namespace: Option<&str>,
) -> Vec<ProxyStatusRow<'a>> {
    let in_scope = |row: &ProxyStatusRow<'_>| {
        namespace.is_none_or(|ns| namespace_of(&row.connection.proxy) == ns)
    };
    let mut rows: Vec<_> = rows.into_iter().filter(in_scope).collect();
    rows.sort_by(|a, b| (&a.connection.proxy, &a.istiod).cmp(&(&b.connection.proxy, &b.istiod)));
    rows
}

/// The namespace in `pod.namespace`.
pub fn namespace_of(proxy: &str) -> &str {
    proxy
        .rsplit_once('.')
        .map_or("", |(_, namespace)| namespace)
}

/// The default table: istioctl's columns, and the word per type that istioctl's newest default
/// leaves out. `wide` adds the age of the last push and the revision.
pub fn table<'a>(rows: &[ProxyStatusRow<'a>], now: Option<Time>, wide: bool) -> Table<'a> {
    let mut urls: Vec<&str> = USUAL.to_vec();
    let seen: BTreeSet<&str> = rows
        .iter()
        .flat_map(|r| r.connection.types.keys())
        .map(|url| &**url)
        .collect();
    urls.extend(seen.into_iter().filter(|url| !USUAL.contains(url)));
    let mut header = vec!["NAME".into(), "CLUSTER".into()];
    header.extend(
        urls.iter()
            .map(|url| Cow::Owned(short_type(url).to_owned())),
    );
    header.extend(["ISTIOD".into(), "VERSION".into(), "SUBSCRIBED TYPES".into()]);
    header.extend(wide.then_some(Cow::Borrowed("REVISION")));
    let mut table = Table::titled(5, header);
    for row in rows {
        let XdsConnection {
            proxy,
            cluster,
            version,
            ..
        } = &row.connection;
        let mut cells = vec![proxy.clone(), cluster.clone()];
        cells.extend(urls.iter().map(|url| Cow::Owned(word(row, url, now, wide))));
        cells.extend([
            row.istiod.clone().into(),
            version.clone(),
            subscribed(row).into(),
        ]);
        cells.extend(wide.then(|| row.revision.clone().into()));
        table.row(cells);
    }
    table
}

/// istioctl's table for `-v 1`: types in the order of their URLs, with the age of the last push.
pub fn verbose_table<'a>(rows: &[ProxyStatusRow<'a>], now: Option<Time>) -> Table<'a> {
    let seen = rows
        .iter()
        .flat_map(|r| r.connection.types.keys())
        .map(|url| &**url);
    let urls: BTreeSet<&str> = seen.chain(USUAL).chain([ECDS]).collect();
    let mut header = vec!["NAME".into(), "CLUSTER".into()];
    header.extend(
        urls.iter()
            .map(|url| Cow::Owned(short_type(url).to_owned())),
    );
    header.extend(["ISTIOD".into(), "VERSION".into()]);
    let mut table = Table::titled(5, header);
    for row in rows {
        let mut cells = vec![row.connection.proxy.clone(), row.connection.cluster.clone()];
        cells.extend(urls.iter().map(|url| Cow::Owned(word(row, url, now, true))));
        cells.extend([row.istiod.clone().into(), row.connection.version.clone()]);
        table.row(cells);
    }
    table
}

/// istioctl's JSON: a `DiscoveryResponse` whose resources are `ClientConfig`s. istioctl prints one
/// response for each istiod; this is one document, and `controlPlanes` says which istiod serves
/// whom.
pub fn to_json(rows: &[ProxyStatusRow<'_>]) -> String {
    let mut proxies: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let of_istiod = proxies.entry(&row.istiod).or_default();
        of_istiod.push(&row.connection.proxy);
    }
    let mut control_planes = Vec::new();
    for (istiod, proxies) in proxies {
        control_planes.push(ControlPlane { istiod, proxies });
    }
    let response = DiscoveryResponse {
        resources: rows.iter().map(ClientConfig::from).collect(),
        control_planes,
    };
    to_pretty(&response, 4)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscoveryResponse<'a> {
    resources: Vec<ClientConfig<'a>>,
    control_planes: Vec<ControlPlane<'a>>,
}

#[derive(Serialize)]
struct ControlPlane<'a> {
    istiod: &'a str,
    proxies: Vec<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientConfig<'a> {
    #[serde(rename = "@type")]
    message: &'static str,
    node: NodeJson<'a>,
    generic_xds_configs: Vec<GenericXdsConfig<'a>>,
}

#[derive(Serialize)]
struct NodeJson<'a> {
    id: &'a str,
    metadata: NodeMetadata<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
struct NodeMetadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    cluster_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    istio_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
}

impl<'a> From<&'a ProxyStatusRow<'_>> for ClientConfig<'a> {
    fn from(row: &'a ProxyStatusRow<'_>) -> Self {
        let connection = &row.connection;
        let mut generic_xds_configs = Vec::new();
        for (url, watch) in &connection.types {
            generic_xds_configs.push(GenericXdsConfig::new(url, watch));
        }
        Self {
            message: "type.googleapis.com/envoy.service.status.v3.ClientConfig",
            node: NodeJson {
                id: &connection.proxy,
                metadata: NodeMetadata {
                    cluster_id: &connection.cluster,
                    istio_version: &connection.version,
                    namespace: namespace_of(&connection.proxy),
                },
            },
            generic_xds_configs,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenericXdsConfig<'a> {
    type_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated: Option<String>,
    config_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_state: Option<ErrorState<'a>>,
}

#[derive(Serialize)]
struct ErrorState<'a> {
    details: &'a str,
}

impl<'a> GenericXdsConfig<'a> {
    fn new(url: &'a str, watch: &'a TypeSync<'_>) -> Self {
        let last_error = Some(&*watch.last_error).filter(|error| !error.is_empty());
        Self {
            type_url: url,
            last_updated: Time::parse(&watch.sent_time).map(meshladder_text::time::Time::to_proto),
            config_status: watch.sync().config_status(),
            error_state: last_error.map(|details| ErrorState { details }),
        }
    }
}

fn word(row: &ProxyStatusRow<'_>, url: &str, now: Option<Time>, with_age: bool) -> String {
    let Some(watch) = row.connection.types.get(url) else {
        return SyncStatus::Ignored.word().to_owned();
    };
    let sync = watch.sync();
    // How long it has been so matters as soon as something is wrong.
    let age = Time::parse(&watch.sent_time)
        .zip(now)
        .map(|(sent, now)| human(now.seconds_since(sent)));
    match age.filter(|_| sync != SyncStatus::NotSent && (with_age || sync != SyncStatus::Synced)) {
        Some(age) => format!("{} ({age})", sync.word()),
        None => sync.word().to_owned(),
    }
}

/// `4 (CDS,LDS,EDS,RDS)`
fn subscribed(row: &ProxyStatusRow<'_>) -> String {
    let types = &row.connection.types;
    let usual = USUAL.iter().copied().filter(|url| types.contains_key(*url));
    let others = types
        .keys()
        .map(|url| &**url)
        .filter(|url| !USUAL.contains(url));
    let names: Vec<_> = usual.chain(others).map(short_type).collect();
    if names.is_empty() {
        "0".to_owned()
    } else {
        format!("{} ({})", names.len(), names.join(","))
    }
}

#[cfg(test)]
mod tests;
