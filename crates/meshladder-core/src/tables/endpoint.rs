//! `proxy-config endpoint`: the endpoints Envoy really has, from `/clusters`.

use std::borrow::Cow;

use super::{Table, eds::Filter};
use crate::envoy::clusters::{Clusters, Host};

/// The hosts the filter accepts, sorted by address, port and cluster.
pub fn select<'d, 'a>(clusters: &'d Clusters<'a>, filter: &Filter) -> Vec<&'d Host<'a>> {
    let wanted = |h: &&Host<'_>| filter.accepts(&h.address.host(), h.address.port(), &h.cluster, &status(h));
    let mut hosts: Vec<_> = clusters.hosts.iter().filter(wanted).collect();
    let key = |h: &'d Host<'a>| (h.address.host(), h.address.port(), &h.cluster);
    hosts.sort_by(|a, b| key(a).cmp(&key(b)));
    hosts
}

/// The table. `wide` shows what decides about the next request, which EDS's word does not: EJECTED and why.
pub fn table<'a>(hosts: &[&Host<'a>], wide: bool) -> Table<'a> {
    if wide {
        return wide_table(hosts);
    }
    let mut table = Table::new(5, &["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"]);
    for host in hosts {
        let outlier = if host.ejected() { "FAILED" } else { "OK" };
        table.row([host.address.to_string().into(), status(host), outlier.into(), host.cluster.clone()]);
    }
    table
}

fn wide_table<'a>(hosts: &[&Host<'a>]) -> Table<'a> {
    const HEADER: [&str; 11] = [
        "ENDPOINT",
        "HEALTH",
        "WHY",
        "STATUS",
        "OUTLIER CHECK",
        "WEIGHT",
        "PRIORITY",
        "LOCALITY",
        "REQUESTS OK/FAILED",
        "CONNECT FAILED",
        "CLUSTER",
    ];
    let mut table = Table::new(3, &HEADER);
    for host in hosts {
        let (health, why) = host.health();
        let outlier = if host.ejected() { "FAILED" } else { "OK" };
        let cells: [Cow<'a, str>; 11] = [
            host.address.to_string().into(),
            health.to_owned().into(),
            why.into(),
            status(host),
            outlier.into(),
            host.weight().map(|w| w.to_string()).unwrap_or_default().into(),
            host.priority().to_string().into(),
            host.locality().into(),
            format!("{}/{}", host.counter("rq_success"), host.counter("rq_error")).into(),
            host.counter("cx_connect_fail").to_string().into(),
            host.cluster.clone(),
        ];
        table.row(cells);
    }
    table
}

fn status<'a>(host: &Host<'a>) -> Cow<'a, str> {
    if host.eds_health.is_empty() { "UNKNOWN".into() } else { host.eds_health.clone() }
}
