//! `/clusters` as text: `cluster::host::key::value`, a line each.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Address, Clusters, Host, locality};
use crate::doc::json::Fault;

pub(super) fn read(doc: &str) -> Result<Clusters<'_>, Fault> {
    let mut clusters = Clusters::default();
    let mut reading = None;
    for line in doc.lines() {
        let Some((rest, key, value)) = split(line) else { continue };
        let (cluster, host) = cluster_and_host(rest);
        match host {
            None if clusters.empty.last().is_none_or(|last| last != cluster) => clusters.empty.push(cluster.into()),
            None => {}
            // The lines of a host follow one another.
            Some(host) => {
                if reading != Some((cluster, host)) {
                    reading = Some((cluster, host));
                    let address = address(host);
                    clusters.hosts.push(Host { cluster: cluster.into(), address, ..Host::default() });
                }
                clusters.hosts.last_mut().expect("a host was pushed when its first line was read").set(key, value);
            }
        }
    }
    if clusters.empty.is_empty() && clusters.hosts.is_empty() {
        return Err(Fault::new(0, "not an answer of /clusters: no line of the form `cluster::host::key::value`"));
    }
    let with_hosts: BTreeSet<_> = clusters.hosts.iter().map(|host| host.cluster.clone()).collect();
    clusters.empty.retain(|cluster| !with_hosts.contains(cluster));
    Ok(clusters)
}

fn split(line: &str) -> Option<(&str, &str, &str)> {
    let (rest, value) = line.rsplit_once("::")?;
    let (rest, key) = rest.rsplit_once("::")?;
    Some((rest, key, value))
}

/// The host is none on a line about the cluster itself. An IPv6 host has `::` of its own, inside brackets.
fn cluster_and_host(rest: &str) -> (&str, Option<&str>) {
    let Some(at) = rest.rfind("::[").or_else(|| rest.rfind("::")) else { return (rest, None) };
    let host = &rest[at + 2..];
    (&rest[..at], (!matches!(host, "default_priority" | "high_priority" | "outlier")).then_some(host))
}

fn address(host: &str) -> Address<'_> {
    if let Some((listener, id)) = host.strip_prefix("envoy://").and_then(|rest| rest.split_once('/')) {
        return Address::Internal(listener.into(), id.into());
    }
    match host.rsplit_once(':').and_then(|(address, port)| Some((address, port.parse().ok()?))) {
        Some((address, port)) => Address::Socket(address.trim_start_matches('[').trim_end_matches(']').into(), port),
        None if host.starts_with(['/', '.', '@']) => Address::Pipe(host.into()),
        None => Address::Unknown,
    }
}

impl<'a> Host<'a> {
    fn set(&mut self, key: &str, value: &'a str) {
        let number = || value.parse().ok();
        match key {
            "health_flags" => self.set_flags(value),
            "hostname" => self.hostname = value.into(),
            "weight" => self.weight = number(),
            "priority" => self.priority = number().unwrap_or(0),
            "rq_success" => self.rq_success = number().unwrap_or(0),
            "rq_error" => self.rq_error = number().unwrap_or(0),
            "cx_connect_fail" => self.cx_connect_fail = number().unwrap_or(0),
            "region" => value.clone_into(&mut self.locality),
            "zone" | "sub_zone" => self.locality = locality(&self.locality, value, ""),
            _ => {}
        }
    }

    /// `healthy`, or the flags behind slashes: `/failed_outlier_check/failed_eds_health`. Some have another name in
    /// the JSON form, which is the one used here.
    fn set_flags(&mut self, value: &'a str) {
        self.eds_health = Cow::Borrowed(match value {
            flags if flags.contains("/failed_eds_health") => "UNHEALTHY",
            flags if flags.contains("/eds_status_draining") => "DRAINING",
            flags if flags.contains("/degraded_eds_health") => "DEGRADED",
            _ => "HEALTHY",
        });
        self.flags = value.split('/').skip(1).filter_map(flag_in_json).map(Cow::Borrowed).collect();
    }
}

fn flag_in_json(flag: &str) -> Option<&str> {
    match flag {
        // EDS's own words are in `eds_health_status`.
        "failed_eds_health" | "eds_status_draining" | "degraded_eds_health" | "" => None,
        "failed_active_hc" => Some("failed_active_health_check"),
        "degraded_active_hc" => Some("failed_active_degraded_check"),
        "degraded_outlier_detection" => Some("failed_degraded_outlier_detection"),
        other => Some(other),
    }
}
