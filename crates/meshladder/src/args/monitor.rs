//! `monitor`: rules, a dashboard, an exporter and manifests.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::cluster::Reading;
use super::prometheus::duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Monitor {
    #[command(subcommand)]
    pub(crate) command: MonitorCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MonitorCommand {
    /// Recording and alerting rules: error flags by class, error budgets, sync, endpoints,
    /// certificates, absent series
    #[command(before_help = "\
Examples:
  meshladder monitor rules > meshladder-rules.yaml
  meshladder monitor rules -o operator -n monitoring | kubectl apply -f -
  meshladder monitor rules --objective 99.5 --runbook https://wiki.example.com/mesh-alerts")]
    Rules(Rules),
    /// A Grafana dashboard: flags by service, version and hop, sync and certificates
    #[command(before_help = "\
Examples:
  meshladder monitor dashboard > meshladder-dashboard.json")]
    Dashboard,
    /// Serve what Prometheus lacks, as metrics: sync, refusals, findings, endpoints, log levels,
    /// certificates
    #[command(before_help = "\
Examples:
  meshladder monitor serve --every 1m                      the cluster of the current context
  meshladder monitor serve -s bundle/ --listen 127.0.0.1:15099
  curl http://127.0.0.1:15099/metrics")]
    Serve(Serve),
    /// Print what installs the exporter, the rules and the dashboard in a cluster
    #[command(before_help = "\
Examples:
  meshladder monitor install --dry-run -n monitoring > meshladder.yaml
  meshladder monitor install --dry-run --image example.com/meshladder:1.0 | kubectl apply -f -")]
    Install(Install),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:15099", value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,
    /// A host name by which it may be called, beside addresses and names of the cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// How often to read the cluster or the source again
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = interval)]
    pub(crate) every: Duration,
    /// At most so many series of one metric; the worst are told, the others counted
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) max_series: usize,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// Print only; nothing else is done in any case
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The image that holds meshladder
    #[arg(long, default_value = concat!("meshladder:", env!("CARGO_PKG_VERSION")), value_name = "IMAGE")]
    pub(crate) image: String,
    #[command(flatten)]
    pub(crate) settings: RuleSettings,
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

fn interval(text: &str) -> Result<Duration, String> {
    duration(text)
        .filter(|every| *every >= Duration::from_secs(1))
        .ok_or_else(|| "write 30s or 5m, at least 1s".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "no number".to_owned())?;
    // A budget of nothing is always overspent, and 14.4 times one of 10 % is more than everything.
    if (93.1..100.0).contains(&value) {
        Ok(value)
    } else {
        Err("it lies between 93.1 and 99.999".to_owned())
    }
}
