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
        match clusters.last_mut() {
            Some(cluster) if cluster.name == name => cluster.add(host, key, value),
            _ => {
                let mut cluster = ClusterText {
                    name,
                    ..ClusterText::default()
                };
                cluster.add(host, key, value);
                clusters.push(cluster);
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

impl<'a> ClusterText<'a> {
    /// Adds what one line says.
    fn add(&mut self, host: Option<&'a str>, key: &'a str, value: &'a str) {
        match host {
            None => {
                self.own.insert(key, value);
            }
            Some(priority @ ("default_priority" | "high_priority")) => {
                let limits = self.limits.entry(priority).or_default();
                limits.push((key, value));
            }
            // The settings of outlier detection; the JSON form has no place for them.
            Some("outlier") => {}
            Some(host) => match self.hosts.last_mut() {
                Some((last, values)) if *last == host => values.push((key, value)),
                _ => self.hosts.push((host, vec![(key, value)])),
            },
        }
    }

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
        let mut thresholds = Vec::new();
        for (priority, limits) in &self.limits {
            thresholds.push(threshold(priority, limits));
        }
        let _ = write!(
            json,
            ",\"circuit_breakers\":{{\"thresholds\":[{}]}}",
            thresholds.join(",")
        );
        let mut hosts = Vec::new();
        for (host, values) in &self.hosts {
            hosts.push(host_status(host, values));
        }
        if !hosts.is_empty() {
            let _ = write!(json, ",\"host_statuses\":[{}]", hosts.join(","));
        }
        json + "}"
    }
}

fn threshold(priority: &str, limits: &[(&str, &str)]) -> String {
    let mut members = Vec::new();
    // Proto3 JSON leaves the default out.
    if priority == "high_priority" {
        members.push("\"priority\":\"HIGH\"".to_owned());
    }
    for (key, value) in limits {
        if is_number(value) {
            members.push(format!("\"{key}\":{value}"));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn is_number(value: &str) -> bool {
    value.parse::<u64>().is_ok()
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
            // Proto3 JSON leaves zeros out.
            "weight" | "priority" if value.parse::<u64>().is_ok_and(|n| n > 0) => {
                rest.push(format!("\"{key}\":{value}"));
            }
            _ if is_counter(key) && is_number(value) => stats.push(stat(key, value)),
            _ => {}
        }
    }
    let mut json = format!(
        "{{\"address\":{},\"stats\":[{}],\"locality\":{{{}}}",
        address(host),
        stats.join(","),
        locality.join(",")
    );
    for member in rest {
        json.push(',');
        json.push_str(&member);
    }
    json + "}"
}

fn is_counter(key: &str) -> bool {
    key.starts_with("cx_") || key.starts_with("rq_")
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
    if let Some(rest) = host.strip_prefix("envoy://")
        && let Some((listener, id)) = rest.split_once('/')
    {
        let (listener, id) = (escape(listener), escape(id));
        return format!(
            "{{\"envoy_internal_address\":{{\"server_listener_name\":{listener},\"endpoint_id\":{id}}}}}"
        );
    }
    if let Some((address, port)) = host.rsplit_once(':')
        && let Ok(port) = port.parse::<u16>()
    {
        let address = escape(address.trim_start_matches('[').trim_end_matches(']'));
        return format!("{{\"socket_address\":{{\"address\":{address},\"port_value\":{port}}}}}");
    }
    format!("{{\"pipe\":{{\"path\":{}}}}}", escape(host))
}

/// `healthy`, or the flags behind slashes: `/failed_outlier_check/failed_eds_health`. EDS's own
/// word is one field in the JSON form, and some flags have another name there.
fn health(flags: &str) -> String {
    let mut eds = "HEALTHY";
    let mut fields = String::new();
    for flag in flags.split('/').skip(1) {
        match flag {
            "failed_eds_health" => eds = "UNHEALTHY",
            "eds_status_draining" => eds = "DRAINING",
            "degraded_eds_health" => eds = "DEGRADED",
            _ => {
                let _ = write!(fields, ",{}:true", escape(json_flag(flag)));
            }
        }
    }
    format!("{{\"eds_health_status\":\"{eds}\"{fields}}}")
}

/// The name of a flag in `envoy.admin.v3.HostHealthStatus`.
fn json_flag(flag: &str) -> &str {
    match flag {
        "failed_active_hc" => "failed_active_health_check",
        "degraded_active_hc" => "failed_active_degraded_check",
        "degraded_outlier_detection" => "failed_degraded_outlier_detection",
        other => other,
    }
}
