//! `/clusters` as text (`cluster::host::key::value`, a line each) turned into the JSON form, so
//! that one reader does.

use std::collections::BTreeMap;

use meshladder_text::json::TextFault;
use meshladder_text::tree::Value;

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
    let statuses = clusters.iter().map(ClusterText::status);
    Ok(Value::nested(["cluster_statuses"], Value::list(statuses)).to_json())
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

    fn status(&self) -> Value {
        let mut members = vec![("name", Value::from(self.name))];
        for key in ["observability_name", "eds_service_name"] {
            members.extend(self.own.get(key).map(|value| (key, Value::from(*value))));
        }
        if self.own.get("added_via_api") == Some(&"true") {
            members.push(("added_via_api", true.into()));
        }
        let mut thresholds = Vec::new();
        for (priority, limits) in &self.limits {
            thresholds.push(threshold(priority, limits));
        }
        let breakers = Value::nested(["thresholds"], thresholds);
        members.push(("circuit_breakers", breakers));
        if !self.hosts.is_empty() {
            let hosts = self.hosts.iter();
            let statuses = Value::list(hosts.map(|(host, values)| host_status(host, values)));
            members.push(("host_statuses", statuses));
        }
        Value::object(members)
    }
}

fn threshold(priority: &str, limits: &[(&str, &str)]) -> Value {
    let mut members = Vec::new();
    if priority == "high_priority" {
        members.push(("priority", Value::from("HIGH")));
    }
    for (key, value) in limits {
        members.extend(value.parse::<u64>().ok().map(|limit| (*key, limit.into())));
    }
    Value::object(members)
}

fn host_status(host: &str, values: &[(&str, &str)]) -> Value {
    let mut stats = Vec::new();
    let mut rest = Vec::new();
    let mut locality = Vec::new();
    for &(key, value) in values {
        match (key, value.parse::<u64>()) {
            ("health_flags", _) => rest.push(("health_status", health(value))),
            ("hostname", _) if !value.is_empty() => rest.push((key, value.into())),
            ("region" | "zone" | "sub_zone", _) if !value.is_empty() => locality.push((key, value)),
            ("weight" | "priority", Ok(1..)) => rest.push((key, number(value))),
            (_, Ok(_)) if key.starts_with("cx_") || key.starts_with("rq_") => {
                stats.push(stat(key, value));
            }
            _ => {}
        }
    }
    let mut members = vec![
        ("address", address(host)),
        ("stats", stats.into()),
        ("locality", Value::object(locality)),
    ];
    members.extend(rest);
    Value::object(members)
}

/// A number, with the digits that the text has.
fn number(digits: &str) -> Value {
    Value::Number(digits.into())
}

/// As the JSON form has it: gauges say so, zeros are left out.
fn stat(key: &str, value: &str) -> Value {
    let mut members = Vec::new();
    if key.ends_with("_active") {
        members.push(("type", "GAUGE"));
    }
    members.push(("name", key));
    if value != "0" {
        members.push(("value", value));
    }
    Value::object(members)
}

fn address(host: &str) -> Value {
    if let Some(rest) = host.strip_prefix("envoy://")
        && let Some((listener, id)) = rest.split_once('/')
    {
        let internal = Value::object([("server_listener_name", listener), ("endpoint_id", id)]);
        return Value::nested(["envoy_internal_address"], internal);
    }
    if let Some((address, port)) = host.rsplit_once(':')
        && let Ok(port) = port.parse::<u16>()
    {
        let address = address.trim_start_matches('[').trim_end_matches(']');
        let socket = [
            ("address", Value::from(address)),
            ("port_value", port.into()),
        ];
        return Value::nested(["socket_address"], Value::object(socket));
    }
    Value::nested(["pipe", "path"], host)
}

/// `healthy`, or the flags behind slashes: `/failed_outlier_check/failed_eds_health`. EDS's own
/// word is one field in the JSON form, and some flags have another name there.
fn health(flags: &str) -> Value {
    let mut eds = "HEALTHY";
    let mut fields = Vec::new();
    for flag in flags.split('/').skip(1) {
        match flag {
            "failed_eds_health" => eds = "UNHEALTHY",
            "eds_status_draining" => eds = "DRAINING",
            "degraded_eds_health" => eds = "DEGRADED",
            "failed_active_hc" => fields.push("failed_active_health_check"),
            "degraded_active_hc" => fields.push("failed_active_degraded_check"),
            "degraded_outlier_detection" => fields.push("failed_degraded_outlier_detection"),
            other => fields.push(other),
        }
    }
    let mut members = vec![("eds_health_status", Value::from(eds))];
    members.extend(fields.into_iter().map(|field| (field, true.into())));
    Value::object(members)
}
