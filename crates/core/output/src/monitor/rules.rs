//! Recording and alerting rules as Prometheus and its operator read them.

use super::alerts::{self, Alert};
use super::manifests::{KubernetesObject, ObjectMetadata};
use super::records::{self, Record};
use crate::yaml;
use serde::Serialize;

/// What differs from one installation to the next.
#[derive(Clone, Debug)]
pub struct RuleOptions {
    /// The share of requests that should go well, in percent.
    pub objective: f64,
    /// Where the runbook is; an alert's anchor is appended.
    pub runbook: String,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self {
            objective: 99.9,
            runbook: "docs/runbook/alerts.md".to_owned(),
        }
    }
}

/// A rule file, for `rule_files:`.
pub fn to_prometheus(options: &RuleOptions) -> String {
    yaml::of(&RuleFile::new(options))
}

/// A PrometheusRule, for the Prometheus operator.
pub fn to_operator(options: &RuleOptions, namespace: &str) -> String {
    yaml::of(&KubernetesObject {
        api_version: "monitoring.coreos.com/v1",
        kind: "PrometheusRule",
        metadata: ObjectMetadata::new(Some(namespace)),
        rest: PrometheusRule {
            spec: RuleFile::new(options),
        },
    })
}

#[derive(Serialize)]
struct PrometheusRule {
    spec: RuleFile,
}

#[derive(Serialize)]
struct RuleFile {
    groups: Vec<RuleGroup>,
}

#[derive(Serialize)]
struct RuleGroup {
    name: &'static str,
    rules: Vec<RuleYaml>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RuleYaml {
    Record {
        record: String,
        expr: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        labels: Option<ClassLabel>,
    },
    Alert {
        alert: &'static str,
        expr: String,
        #[serde(rename = "for")]
        hold: &'static str,
        labels: SeverityLabel,
        annotations: Annotations,
    },
}

#[derive(Serialize)]
struct ClassLabel {
    class: &'static str,
}

#[derive(Serialize)]
struct SeverityLabel {
    severity: &'static str,
}

#[derive(Serialize)]
struct Annotations {
    summary: String,
    description: String,
    runbook_url: String,
}

impl RuleFile {
    fn new(options: &RuleOptions) -> Self {
        let mut groups = vec![RuleGroup {
            name: "meshladder-records",
            rules: records::all().into_iter().map(RuleYaml::record).collect(),
        }];
        for group in alerts::GROUPS {
            let mut rules = Vec::new();
            for alert in group.alerts {
                rules.push(RuleYaml::alert(alert, options));
            }
            groups.push(RuleGroup {
                name: group.name,
                rules,
            });
        }
        Self { groups }
    }
}

impl RuleYaml {
    fn record(record: Record) -> Self {
        Self::Record {
            record: record.name,
            expr: record.expr,
            labels: record.class.map(|class| ClassLabel { class }),
        }
    }

    fn alert(alert: &Alert, options: &RuleOptions) -> Self {
        Self::Alert {
            alert: alert.name,
            expr: alert.expr(options.objective),
            hold: alert.hold,
            labels: SeverityLabel {
                severity: alert.severity,
            },
            annotations: Annotations {
                summary: Alert::templated(alert.summary),
                description: Alert::templated(alert.description),
                runbook_url: format!("{}#{}", options.runbook, alert.anchor()),
            },
        }
    }
}
