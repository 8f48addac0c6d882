//! `proxy-status`: every istiod's view of every proxy, merged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Table, age::human};
use crate::json::{self, Style};
use meshladder_capture::istiod::syncz::{SyncStatus, TypeSync, XdsConnection, short_type};
use meshladder_text::json::{Raw, escape};
use meshladder_text::time::Time;

/// A proxy's connection and the istiod that has it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
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
pub fn select<'a>(rows: Vec<Row<'a>>, namespace: Option<&str>) -> Vec<Row<'a>> {
    let in_scope =
        |row: &Row<'_>| namespace.is_none_or(|ns| namespace_of(&row.connection.proxy) == ns);
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
pub fn table<'a>(rows: &[Row<'a>], now: Option<Time>, wide: bool) -> Table<'a> {
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
pub fn verbose_table<'a>(rows: &[Row<'a>], now: Option<Time>) -> Table<'a> {
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
pub fn to_json(rows: &[Row<'_>]) -> String {
    let resources: Vec<_> = rows.iter().map(client_config).collect();
    let mut planes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        planes
            .entry(&row.istiod)
            .or_default()
            .push(escape(&row.connection.proxy));
    }
    let planes: Vec<_> = planes
        .iter()
        .map(|(istiod, proxies)| {
            format!(
                "{{\"istiod\":{},\"proxies\":[{}]}}",
                escape(istiod),
                proxies.join(",")
            )
        })
        .collect();
    let text = format!(
        "{{\"resources\":[{}],\"controlPlanes\":[{}]}}",
        resources.join(","),
        planes.join(",")
    );
    let mut pretty = String::new();
    // An object was just written, and a String takes everything.
    if let Ok(raw) = Raw::of(&text) {
        let _ = json::write(&mut pretty, raw, Style::PRETTY);
    }
    pretty
}

fn client_config(row: &Row<'_>) -> String {
    let XdsConnection {
        proxy,
        cluster,
        version,
        types,
        ..
    } = &row.connection;
    let metadata = [
        ("CLUSTER_ID", &**cluster),
        ("ISTIO_VERSION", &**version),
        ("NAMESPACE", namespace_of(proxy)),
    ];
    let metadata: Vec<_> = metadata
        .iter()
        .filter(|(_, v)| !v.is_empty())
        .map(|(k, v)| format!("\"{k}\":{}", escape(v)))
        .collect();
    let configs: Vec<_> = types
        .iter()
        .map(|(url, watch)| generic_xds_config(url, watch))
        .collect();
    format!(
        "{{\"@type\":\"type.googleapis.com/envoy.service.status.v3.ClientConfig\",\"node\":{{\"id\":{},\"metadata\":{{{}}}}},\"genericXdsConfigs\":[{}]}}",
        escape(proxy),
        metadata.join(","),
        configs.join(",")
    )
}

fn generic_xds_config(url: &str, watch: &TypeSync<'_>) -> String {
    let mut fields = vec![format!("\"typeUrl\":{}", escape(url))];
    if let Some(sent) = Time::parse(&watch.sent_time) {
        fields.push(format!("\"lastUpdated\":\"{}\"", sent.to_proto()));
    }
    fields.push(format!(
        "\"configStatus\":\"{}\"",
        watch.sync().config_status()
    ));
    if !watch.last_error.is_empty() {
        fields.push(format!(
            "\"errorState\":{{\"details\":{}}}",
            escape(&watch.last_error)
        ));
    }
    format!("{{{}}}", fields.join(","))
}

fn word(row: &Row<'_>, url: &str, now: Option<Time>, with_age: bool) -> String {
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
fn subscribed(row: &Row<'_>) -> String {
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
