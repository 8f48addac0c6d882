//! Alerts, each with what it says, what it means and what to look at: rules and runbook are made
//! from these tables.

mod absence;
mod flags;
mod state;

/// An alerting rule.
#[derive(Debug)]
pub struct Alert {
    /// `MeshNoRoute`
    pub name: &'static str,
    /// When it fires.
    pub when: When,
    /// How long it must hold.
    pub hold: &'static str,
    /// `critical`, `warning` or `info`.
    pub severity: &'static str,
    /// One line. The words of [`TEMPLATES`] stand for values.
    pub summary: &'static str,
    /// What is wrong, with figures.
    pub description: &'static str,
    /// For the runbook: what it means.
    pub means: &'static str,
    /// For the runbook: what to run, the first thing first.
    pub look: &'static [&'static str],
}

/// When an alert fires.
#[derive(Debug)]
pub enum When {
    /// Requests of a class of response flags are more than this share of a service's.
    Class {
        /// The class.
        id: &'static str,
        /// The share.
        share: &'static str,
    },
    /// The error budget burns this many times too fast over both windows.
    Burn {
        /// How many times.
        factor: &'static str,
        /// The long window.
        long: &'static str,
        /// The short one, which ends the alert soon after the trouble.
        short: &'static str,
    },
    /// The expression gives anything.
    Holds(&'static str),
}

/// A group of alerts.
#[derive(Debug)]
pub struct AlertGroup {
    /// Its name.
    pub name: &'static str,
    /// Its alerts.
    pub alerts: &'static [Alert],
}

/// Every group.
pub static GROUPS: &[AlertGroup] = &[
    AlertGroup {
        name: "meshladder-flags",
        alerts: flags::ALERTS,
    },
    AlertGroup {
        name: "meshladder-objective",
        alerts: flags::OBJECTIVE,
    },
    AlertGroup {
        name: "meshladder-state",
        alerts: state::ALERTS,
    },
    AlertGroup {
        name: "meshladder-absence",
        alerts: absence::ALERTS,
    },
];

/// Words of summaries and descriptions, and the templates that Prometheus fills in for them.
pub static TEMPLATES: &[(&str, &str)] = &[
    (
        "SERVICE",
        "{{ $labels.destination_service_name }}.{{ $labels.destination_service_namespace }}",
    ),
    (
        "CALLER",
        "{{ $labels.source_workload }}.{{ $labels.source_workload_namespace }}",
    ),
    ("VERSION", "{{ $labels.destination_version }}"),
    ("REPORTER", "{{ $labels.reporter }}"),
    ("PROXY", "{{ $labels.pod }}.{{ $labels.namespace }}"),
    ("TYPE", "{{ $labels.type }}"),
    ("NAME", "{{ $labels.name }}"),
    ("CODE", "{{ $labels.code }}"),
    ("INSTANCE", "{{ $labels.instance }}"),
    ("SHARE", "{{ $value | humanizePercentage }}"),
    ("DURATION", "{{ $value | humanizeDuration }}"),
    ("VALUE", "{{ $value | humanize }}"),
];

/// Every alert.
pub fn all() -> impl Iterator<Item = &'static Alert> {
    GROUPS.iter().flat_map(|group| group.alerts)
}

/// Fewer requests a second than this say nothing: six in ten minutes.
const LEAST: &str = "0.01";

impl Alert {
    /// Its expression, for an objective such as 99.9.
    pub fn expr(&self, objective: f64) -> String {
        match self.when {
            When::Class { id, share } => {
                let flagged = format!("meshladder:flagged_requests:rate5m{{class=\"{id}\"}}");
                format!(
                    "{flagged} / ignoring (class) meshladder:requests:rate5m > {share} and ignoring (class) {flagged} > {LEAST}"
                )
            }
            When::Burn {
                factor,
                long,
                short,
            } => {
                let over = |window: &str| {
                    format!(
                        "meshladder:error_ratio:rate{window} > {factor} * {}",
                        budget(objective)
                    )
                };
                format!(
                    "{} and {} and meshladder:service_requests:rate1h > {LEAST}",
                    over(long),
                    over(short)
                )
            }
            When::Holds(expr) => expr.to_owned(),
        }
    }

    /// A text of it with Prometheus' templates.
    pub fn templated(text: &str) -> String {
        TEMPLATES
            .iter()
            .fold(text.to_owned(), |text, (word, template)| {
                text.replace(word, template)
            })
    }

    /// Its place in the runbook, as Markdown makes anchors of headings.
    pub fn anchor(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

/// What may fail: 0.001 for 99.9.
fn budget(objective: f64) -> String {
    let text = format!("{:.6}", 1.0 - objective / 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_what_the_objective_leaves() {
        for (objective, left) in [
            (99.9, "0.001"),
            (99.0, "0.01"),
            (95.0, "0.05"),
            (99.99, "0.0001"),
        ] {
            assert_eq!(budget(objective), left);
        }
    }

    #[test]
    fn every_alert_says_what_it_is_and_what_to_do() {
        let mut names: Vec<_> = all().map(|alert| alert.name).collect();
        for alert in all() {
            assert!(alert.name.starts_with("Mesh"), "{}", alert.name);
            assert!(
                ["critical", "warning", "info"].contains(&alert.severity),
                "{}",
                alert.name
            );
            for text in [alert.summary, alert.description, alert.means] {
                assert!(
                    !text.is_empty() && !text.ends_with('.'),
                    "{}: {text}",
                    alert.name
                );
            }
            assert!(
                alert
                    .look
                    .iter()
                    .any(|command| command.starts_with("meshladder ")),
                "{}",
                alert.name
            );
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
    }
}
