//! `monitor`: rules, a dashboard, an exporter and manifests.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, clap::Args)]
pub(crate) struct Monitor {
    #[command(subcommand)]
    pub(crate) command: MonitorCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MonitorCommand {
    /// Recording and alerting rules: error flags by class, error budgets, sync, endpoints, certificates, absent series
    #[command(before_help = "\
Examples:
  meshladder monitor rules > meshladder-rules.yaml
  meshladder monitor rules -o operator -n monitoring | kubectl apply -f -
  meshladder monitor rules --objective 99.5 --runbook https://wiki.example.com/mesh-alerts")]
    Rules(Rules),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    /// `prometheus` for `rule_files:`, `operator` for a PrometheusRule
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: RulesOutput,
    #[command(flatten)]
    pub(crate) settings: RuleSettings,
}

/// What differs from one installation to the next.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleSettings {
    /// The share of requests that should go well, in percent
    #[arg(long, default_value_t = 99.9, value_name = "PERCENT", value_parser = percent)]
    pub(crate) objective: f64,
    /// Where the runbook's page of alerts is; each alert's anchor is appended
    #[arg(long, default_value = "docs/runbook/alerts.md", value_name = "URL")]
    pub(crate) runbook: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesOutput {
    #[default]
    Prometheus,
    Operator,
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "no number".to_owned())?;
    // A budget of nothing is always overspent, and 14.4 times one of 10 % is more than everything.
    if (93.1..100.0).contains(&value) { Ok(value) } else { Err("it lies between 93.1 and 99.999".to_owned()) }
}
