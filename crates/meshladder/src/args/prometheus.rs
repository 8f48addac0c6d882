//! `flags --prometheus` and `canary`: what is asked of Prometheus, and how to be let in.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use meshladder_judge::prometheus::query;

use super::TextOrJson;

#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Flags to explain; without any, the table of all
    pub(crate) codes: Vec<String>,
    #[command(flatten)]
    pub(crate) server: PrometheusFlags,
    /// Split rows by this too. Repeatable
    #[arg(long, value_enum, value_name = "WHAT", requires = "prometheus")]
    pub(crate) by: Vec<By>,
    /// TCP connections instead of requests
    #[arg(long, requires = "prometheus")]
    pub(crate) tcp: bool,
    /// Only calls of this service; -n names its namespace
    #[arg(long, value_name = "NAME", requires = "prometheus")]
    pub(crate) service: Option<String>,
    /// The time that rates are taken over
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = window, requires = "prometheus")]
    pub(crate) window: String,
    /// Ask this instead: PromQL that gives one value a series
    #[arg(long, value_name = "PROMQL", requires = "prometheus", conflicts_with_all = ["by", "tcp", "service"])]
    pub(crate) query: Option<String>,
    /// `text` or `json`
    #[arg(
        short,
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        requires = "prometheus"
    )]
    pub(crate) output: TextOrJson,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Canary {
    /// The service whose traffic is split; -n names its namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) service: String,
    /// The weights, as `v1=90,v2=10`; without them those of the VirtualService or HTTPRoute in the
    /// source or the cluster
    #[arg(long, value_name = "VERSION=WEIGHT,…")]
    pub(crate) weights: Option<String>,
    #[command(flatten)]
    pub(crate) server: PrometheusFlags,
    /// The time that requests are counted over
    #[arg(long, default_value = "30m", value_name = "DURATION", value_parser = window)]
    pub(crate) window: String,
    /// Differences up to so many percentage points are none
    #[arg(long, default_value_t = 1.0, value_name = "POINTS")]
    pub(crate) tolerance: f64,
    /// `text` or `json`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TextOrJson,
}

/// Where Prometheus is, and how to be let in.
#[derive(Debug, clap::Args)]
pub(crate) struct PrometheusFlags {
    /// Ask Prometheus, or what speaks its API (Thanos, Mimir, VictoriaMetrics): a base URL;
    /// `service/NAMESPACE/NAME[:PORT][/PATH]` of the cluster, reached through the API server; or
    /// `auto`, or nothing, to look for such a Service
    #[arg(long, value_name = "WHERE", num_args = 0..=1, default_missing_value = "auto", help_heading = "Prometheus")]
    pub(crate) prometheus: Option<String>,
    /// A header to send. Repeatable
    #[arg(
        long = "header",
        value_name = "NAME: VALUE",
        requires = "prometheus",
        help_heading = "Prometheus"
    )]
    pub(crate) headers: Vec<String>,
    /// A file that holds a bearer token
    #[arg(
        long,
        value_name = "FILE",
        requires = "prometheus",
        help_heading = "Prometheus"
    )]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// The tenant of Mimir, Cortex or Thanos: the header X-Scope-OrgID
    #[arg(
        long,
        value_name = "ID",
        requires = "prometheus",
        help_heading = "Prometheus"
    )]
    pub(crate) tenant: Option<String>,
    /// Trust these certificates in the place of the system's
    #[arg(
        long,
        value_name = "FILE.pem",
        requires = "prometheus",
        help_heading = "Prometheus"
    )]
    pub(crate) cacert: Option<PathBuf>,
    /// Our certificate, for a server that asks for one
    #[arg(
        long,
        value_name = "FILE.pem",
        requires = "prometheus",
        help_heading = "Prometheus"
    )]
    pub(crate) cert: Option<PathBuf>,
    /// Its key; without it, --cert holds both
    #[arg(
        long,
        value_name = "FILE.pem",
        requires = "cert",
        help_heading = "Prometheus"
    )]
    pub(crate) key: Option<PathBuf>,
    /// How long an answer may take
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = timeout, requires = "prometheus", help_heading = "Prometheus")]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The service that is called
    Destination,
    /// Which side reports; always shown
    Reporter,
    /// HTTP and gRPC status
    Code,
    /// The version of the service that is called
    Version,
}

fn window(text: &str) -> Result<String, String> {
    query::seconds(text)
        .map(|_| text.to_owned())
        .ok_or_else(|| "a duration is written as 5m or 1h30m".to_owned())
}

fn timeout(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| "a time-out is written as 30s, at most 1d".to_owned())
}

/// A duration in Prometheus' notation, up to a day.
pub(super) fn duration(text: &str) -> Option<Duration> {
    query::seconds(text)
        .filter(|seconds| *seconds <= 86_400.0)
        .map(Duration::from_secs_f64)
}
