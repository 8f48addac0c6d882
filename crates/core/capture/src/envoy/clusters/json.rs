//! `/clusters?format=json` (`envoy.admin.v3.Clusters`).

use std::borrow::Cow;

use super::{Address, Clusters, Host};
use meshladder_text::json::{Cursor, Fault, Raw};

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
    Err(clusters.fault.unwrap_or(Fault {
        at: root.offset(),
        what,
    }))
}

fn cluster<'a>(status: &mut Cursor<'a>, clusters: &mut Clusters<'a>) {
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

fn host<'a>(status: &mut Cursor<'a>) -> Host<'a> {
    let start = status.peek();
    let (mut address, mut health) = (Address::Unknown, None);
    status.members(|key, value| match key {
        "address" => address = Address::read(value),
        "health_status" => health = Some(value.offset()),
        _ => {}
    });
    Host {
        status: 0,
        address,
        health,
        raw: status.since(start),
    }
}
