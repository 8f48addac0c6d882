//! `/clusters?format=json` (`envoy.admin.v3.Clusters`).

use std::borrow::Cow;

use super::{ClusterStatuses, HostAddress, HostStatus};
use meshladder_text::json::{Cursor, Raw, TextFault};

pub(super) fn read(doc: &str) -> Result<ClusterStatuses<'_>, TextFault> {
    let root = Raw::of(doc)?;
    let mut clusters = ClusterStatuses::default();
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
    Err(clusters.fault.unwrap_or(TextFault {
        at: root.offset(),
        what,
    }))
}

fn cluster<'a>(status: &mut Cursor<'a>, clusters: &mut ClusterStatuses<'a>) {
    let (first, start) = (clusters.hosts.len(), status.peek());
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
        host.status = clusters.statuses.len();
    }
    clusters.statuses.push(status.since(start));
    clusters.names.push(name);
}

fn host<'a>(status: &mut Cursor<'a>) -> HostStatus<'a> {
    let start = status.peek();
    let (mut address, mut health) = (HostAddress::Unknown, None);
    status.members(|key, value| match key {
        "address" => address = HostAddress::read(value),
        "health_status" => health = Some(value.offset()),
        _ => {}
    });
    HostStatus {
        status: 0,
        address,
        health,
        raw: status.since(start),
    }
}
