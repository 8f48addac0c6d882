//! Recording and alerting rules as Prometheus and its operator read them.

use super::alerts::{self, Alert, Group};
use super::records::{self, Record};
use super::value::{list, object, text, words};
use crate::yaml;
use meshladder_text::tree::Node;

/// What differs from one installation to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// The share of requests that should go well, in percent.
    pub objective: f64,
    /// Where the runbook is; an alert's anchor is appended.
    pub runbook: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            objective: 99.9,
            runbook: "docs/runbook/alerts.md".to_owned(),
        }
    }
}

/// A rule file, for `rule_files:`.
pub fn to_prometheus(options: &Options) -> String {
    yaml::text(&groups(options))
}

/// A PrometheusRule, for the Prometheus operator.
pub fn to_operator(options: &Options, namespace: &str) -> String {
    yaml::text(&prometheus_rule(options, namespace))
}

pub(super) fn prometheus_rule(options: &Options, namespace: &str) -> Node {
    object([
        ("apiVersion", text("monitoring.coreos.com/v1")),
        ("kind", text("PrometheusRule")),
        (
            "metadata",
            super::manifests::metadata("meshladder", Some(namespace)),
        ),
        ("spec", groups(options)),
    ])
}

fn groups(options: &Options) -> Node {
    let recorded = records::all();
    let record_group = group("meshladder-records", recorded.iter().map(record));
    let alert_groups = alerts::GROUPS.iter().map(|g| alert_group(g, options));
    object([(
        "groups",
        list(std::iter::once(record_group).chain(alert_groups)),
    )])
}

fn alert_group(group_of: &Group, options: &Options) -> Node {
    group(
        group_of.name,
        group_of.alerts.iter().map(|a| alert(a, options)),
    )
}

fn group(name: &str, rules: impl Iterator<Item = Node>) -> Node {
    object([("name", text(name)), ("rules", list(rules))])
}

fn record(record: &Record) -> Node {
    let mut members = vec![("record", text(&record.name)), ("expr", text(&record.expr))];
    members.extend(
        record
            .class
            .map(|class| ("labels", words([("class", class)]))),
    );
    object(members)
}

fn alert(alert: &Alert, options: &Options) -> Node {
    let annotations = [
        ("summary", Alert::templated(alert.summary)),
        ("description", Alert::templated(alert.description)),
        (
            "runbook_url",
            format!("{}#{}", options.runbook, alert.anchor()),
        ),
    ];
    object([
        ("alert", text(alert.name)),
        ("expr", text(alert.expr(options.objective))),
        ("for", text(alert.hold)),
        ("labels", words([("severity", alert.severity)])),
        ("annotations", words(annotations)),
    ])
}
