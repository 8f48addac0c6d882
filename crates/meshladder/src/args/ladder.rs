//! `check` and `why`.

use clap::ValueEnum;

use super::cluster::Reading;
use super::request::RequestFlags;

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A workload (`deploy/cart`, `shop/cart`, `cart.shop`) or any object
    /// (`virtualservice/catalog`); without one the whole mesh, or with -n a namespace
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Of several clusters, the one to look at; without it all of them, and the target's
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) report: ReportFlags,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// What was seen: `503`, `503/UH`, `503/UF:delayed_connect_error`; code 0 is no answer
    #[arg(long, value_name = "CODE[/FLAGS][:DETAILS]")]
    pub(crate) seen: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) report: ReportFlags,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct ReportFlags {
    /// `text`, `json`, `markdown`, `html`, or `runbook`: a page for the on-call
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: ReportOutput,
    /// Show all causes, all evidence and what is only worth knowing
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Exit with 1 from this severity on
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportOutput {
    #[default]
    Text,
    Json,
    Markdown,
    Html,
    Runbook,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    #[default]
    Error,
    Warning,
    Info,
}
