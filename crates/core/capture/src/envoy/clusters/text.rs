//! `/clusters` as text (`cluster::host::key::value`, a line each) turned into the JSON form, so
//! that one reader does.

use std::collections::BTreeMap;
use std::fmt::Write;

use meshladder_text::json::{TextFault, escape};

/// A cluster's own values, and its hosts with theirs, in the order of the text.
#[derive(Default)]
struct ClusterText<'a> {
    name: &'a str,
    own: BTreeMap<&'a str, &'a str>,
    limits: BTreeMap<&'a str, Vec<(&'a str, &'a str)>>,
    hosts: Vec<(&'a str, Vec<(&'a str, &'a str)>)>,
}

/// The JSON form (`envoy.admin.v3.Clusters`) of the text.
///
/// # Errors
/// When no line has the form.
pub(super) fn to_json(text: &str) -> Result<String, TextFault> {
    let mut clusters: Vec<ClusterText<'_>> = Vec::new();
    for line in text.lines() {
        let Some((rest, key, value)) = split(line) else {
            continue;
        };
        let (name, host) = cluster_and_host(rest);
        // The lines of a cluster follow one another, and so do those of a host.
        if clusters.last().is_none_or(|last| last.name != name) {
            clusters.push(ClusterText {
                name,
                ..ClusterText::default()
            });
        }
        let cluster = clusters
            .last_mut()
            .expect("a cluster was pushed for its first line");
        match host {
            None => drop(cluster.own.insert(key, value)),
            Some(priority @ ("default_priority" | "high_priority")) => {
                cluster
                    .limits
                    .entry(priority)
                    .or_default()
                    .push((key, value));
            }
            Some("outlier") => {}
            Some(host) => {
                if cluster.hosts.last().is_none_or(|(last, _)| *last != host) {
                    cluster.hosts.push((host, Vec::new()));
                }
                cluster
                    .hosts
                    .last_mut()
                    .expect("a host was pushed for its first line")
                    .1
                    .push((key, value));
            }
        }
    }
    if clusters.is_empty() {
        return Err(TextFault::new(
            0,
            "not an answer of /clusters: no line of the form `cluster::host::key::value`",
        ));
    }
    let statuses: Vec<_> = clusters.iter().map(ClusterText::json).collect();
    Ok(format!(
        "{{\"cluster_statuses\":[{}]}}",
        statuses.join(",\n")
    ))
}

fn split(line: &str) -> Option<(&str, &str, &str)> {
    let (rest, value) = line.rsplit_once("::")?;
    let (rest, key) = rest.rsplit_once("::")?;
    Some((rest, key, value))
}

/// The host is none on a line about the cluster itself. An IPv6 host has `::` of its own, inside
/// brackets.
fn cluster_and_host(rest: &str) -> (&str, Option<&str>) {
    match rest.rfind("::[").or_else(|| rest.rfind("::")) {
        Some(at) => (&rest[..at], Some(&rest[at + 2..])),
        None => (rest, None),
    }
}

impl ClusterText<'_> {
    fn json(&self) -> String {
        let mut json = format!("{{\"name\":{}", escape(self.name));
        for key in ["observability_name", "eds_service_name"] {
            if let Some(value) = self.own.get(key) {
                let _ = write!(json, ",\"{key}\":{}", escape(value));
            }
        }
        if self.own.get("added_via_api") == Some(&"true") {
            json.push_str(",\"added_via_api\":true");
        }
        let thresholds: Vec<_> = self
            .limits
            .iter()
            .map(|(priority, limits)| threshold(priority, limits))
            .collect();
        let _ = write!(
            json,
            ",\"circuit_breakers\":{{\"thresholds\":[{}]}}",
            thresholds.join(",")
        );
        if !self.hosts.is_empty() {
            let hosts: Vec<_> = self
                .hosts
                .iter()
                .map(|(host, values)| host_status(host, values))
                .collect();
            let _ = write!(json, ",\"host_statuses\":[{}]", hosts.join(","));
        }
        json + "}"
    }
}

fn threshold(priority: &str, limits: &[(&str, &str)]) -> String {
    let high = (priority == "high_priority").then(|| "\"priority\":\"HIGH\"".to_owned());
    let limits = limits
        .iter()
        .filter(|(_, value)| value.parse::<u64>().is_ok())
        .map(|(key, value)| format!("\"{key}\":{value}"));
    format!(
        "{{{}}}",
        high.into_iter().chain(limits).collect::<Vec<_>>().join(",")
    )
}

fn host_status(host: &str, values: &[(&str, &str)]) -> String {
    let mut stats = Vec::new();
    let mut rest = Vec::new();
    let mut locality = Vec::new();
    for (key, value) in values {
        match *key {
            "health_flags" => rest.push(format!("\"health_status\":{}", health(value))),
            "hostname" if !value.is_empty() => rest.push(format!("\"hostname\":{}", escape(value))),
            "region" | "zone" | "sub_zone" if !value.is_empty() => {
                locality.push(format!("\"{key}\":{}", escape(value)));
            }
            "weight" | "priority" if value.parse::<u64>().is_ok_and(|n| n > 0) => {
                rest.push(format!("\"{key}\":{value}"));
            }
            _ if (key.starts_with("cx_") || key.starts_with("rq_"))
                && value.parse::<u64>().is_ok() =>
            {
                stats.push(stat(key, value));
            }
            _ => {}
        }
    }
    let (stats, locality) = (stats.join(","), locality.join(","));
    let rest: String = rest.iter().fold(String::new(), |all, one| all + "," + one);
    format!(
        "{{\"address\":{},\"stats\":[{stats}],\"locality\":{{{locality}}}{rest}}}",
        address(host)
    )
}

/// As the JSON form has it: gauges say so, zeros are left out.
fn stat(key: &str, value: &str) -> String {
    let gauge = if key.ends_with("_active") {
        "\"type\":\"GAUGE\","
    } else {
        ""
    };
    let value = if value == "0" {
        String::new()
    } else {
        format!(",\"value\":\"{value}\"")
    };
    format!("{{{gauge}\"name\":\"{key}\"{value}}}")
}

fn address(host: &str) -> String {
    if let Some((listener, id)) = host
        .strip_prefix("envoy://")
        .and_then(|rest| rest.split_once('/'))
    {
        let (listener, id) = (escape(listener), escape(id));
        return format!(
            "{{\"envoy_internal_address\":{{\"server_listener_name\":{listener},\"endpoint_id\":{id}}}}}"
        );
    }
    match host
        .rsplit_once(':')
        .and_then(|(address, port)| Some((address, port.parse::<u16>().ok()?)))
    {
        Some((address, port)) => {
            let address = escape(address.trim_start_matches('[').trim_end_matches(']'));
            format!("{{\"socket_address\":{{\"address\":{address},\"port_value\":{port}}}}}")
        }
        None => format!("{{\"pipe\":{{\"path\":{}}}}}", escape(host)),
    }
}

/// `healthy`, or the flags behind slashes: `/failed_outlier_check/failed_eds_health`. EDS's own
/// word is one field in the JSON form, and some flags have another name there.
fn health(flags: &str) -> String {
    let mut eds = "HEALTHY";
    let mut fields = String::new();
    for flag in flags.split('/').skip(1) {
        let field = match flag {
            "failed_eds_health" | "eds_status_draining" | "degraded_eds_health" => {
                eds = match flag {
                    "failed_eds_health" => "UNHEALTHY",
                    "eds_status_draining" => "DRAINING",
                    _ => "DEGRADED",
                };
                continue;
            }
            "failed_active_hc" => "failed_active_health_check",
            "degraded_active_hc" => "failed_active_degraded_check",
            "degraded_outlier_detection" => "failed_degraded_outlier_detection",
            other => other,
        };
        let _ = write!(fields, ",{}:true", escape(field));
    }
    format!("{{\"eds_health_status\":\"{eds}\"{fields}}}")
}
