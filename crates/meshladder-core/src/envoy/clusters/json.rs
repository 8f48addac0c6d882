//! `/clusters?format=json` (`envoy.admin.v3.Clusters`).

use std::borrow::Cow;

use super::{Address, Clusters, Host, locality};
use crate::doc::json::{Cursor, Fault, Raw};

pub(super) fn read(doc: &str) -> Result<Clusters<'_>, Fault> {
    let root = Raw::of(doc)?;
    let mut clusters = Clusters::default();
    let mut known = false;
    let mut cursor = root.cursor();
    cursor.members(|key, value| {
        if key == "cluster_statuses" {
            known = true;
            value.elements(|status| cluster(status, &mut clusters));
        }
    });
    clusters.fault = cursor.fault();
    // Envoy without any cluster answers `{}`.
    if known || doc[root.offset()..].trim_end() == "{}" {
        return Ok(clusters);
    }
    let what = "not an answer of /clusters: it has no `cluster_statuses`".to_owned();
    Err(clusters.fault.unwrap_or(Fault { at: root.offset(), what }))
}

fn cluster<'a>(status: &mut Cursor<'a>, clusters: &mut Clusters<'a>) {
    let first = clusters.hosts.len();
    let mut name = Cow::default();
    status.members(|key, value| match key {
        "name" => name = value.string().unwrap_or_default(),
        "host_statuses" => value.elements(|value| clusters.hosts.push(host(value))),
        _ => {}
    });
    if clusters.hosts.len() == first {
        clusters.empty.push(name);
        return;
    }
    for host in &mut clusters.hosts[first..] {
        host.cluster = name.clone();
    }
}

fn host<'a>(status: &mut Cursor<'a>) -> Host<'a> {
    let mut host = Host::default();
    status.members(|key, value| match key {
        "address" => host.address = address(value),
        "stats" => value.elements(|stat| counter(stat, &mut host)),
        "health_status" => value.members(|key, value| match key {
            "eds_health_status" => host.eds_health = value.string().unwrap_or_default(),
            _ if value.raw().and_then(Raw::bool) == Some(true) => host.flags.push(Cow::Owned(key.to_owned())),
            _ => {}
        }),
        "weight" => host.weight = value.raw().and_then(Raw::number),
        "priority" => host.priority = value.raw().and_then(Raw::number).unwrap_or(0),
        "hostname" => host.hostname = value.string().unwrap_or_default(),
        "locality" => {
            let raw = value.raw();
            let part = |key| raw.and_then(|r| r.string_at(key)).unwrap_or_default();
            host.locality = locality(&part("region"), &part("zone"), &part("sub_zone"));
        }
        _ => {}
    });
    host
}

fn counter<'a>(stat: &mut Cursor<'a>, host: &mut Host<'a>) {
    let Some(stat) = stat.raw() else { return };
    let value = stat.get("value").and_then(Raw::number).unwrap_or(0);
    match stat.string_at("name").as_deref() {
        Some("rq_success") => host.rq_success = value,
        Some("rq_error") => host.rq_error = value,
        Some("cx_connect_fail") => host.cx_connect_fail = value,
        _ => {}
    }
}

fn address<'a>(value: &mut Cursor<'a>) -> Address<'a> {
    value.raw().map_or(Address::Unknown, read_address)
}

/// Reads an `envoy.config.core.v3.Address`.
pub(crate) fn read_address(raw: Raw<'_>) -> Address<'_> {
    if let Some(socket) = raw.get("socket_address") {
        let port = socket.get("port_value").and_then(Raw::number).unwrap_or(0);
        return Address::Socket(socket.string_at("address").unwrap_or_default(), port);
    }
    if let Some(pipe) = raw.get("pipe") {
        return Address::Pipe(pipe.string_at("path").unwrap_or_default());
    }
    match raw.get("envoy_internal_address") {
        Some(internal) => Address::Internal(
            internal.string_at("server_listener_name").unwrap_or_default(),
            internal.string_at("endpoint_id").unwrap_or_default(),
        ),
        None => Address::Unknown,
    }
}
