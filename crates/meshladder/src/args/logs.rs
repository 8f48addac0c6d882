//! `logs`.

use std::time::Duration;

use clap::ValueEnum;
use meshladder_judge::logs::Codes;

use super::duration;

const FILTERS: &str = "Filters (of several values of one filter any must fit)";

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Logs {
    /// A file (`.gz` and `.zst` too), `-` for stdin, or a pod or workload: with -s of the bundle,
    /// else of the cluster; with -s and without any, all its logs
    #[arg(value_name = "FILE|POD|-")]
    pub(crate) what: Vec<String>,
    /// The format of the lines, as Envoy takes it: text with command operators, or a JSON object of
    /// them. Istio's and Envoy's own, and those that MeshConfig names in the source, are known
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Vec<String>,
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// Print the lines of a running pod or workload as they are written, decoded, and what they
    /// come to at the end
    #[arg(long, conflicts_with_all = ["why", "source"])]
    pub(crate) follow: bool,
    /// End following after this time; else with Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse, requires = "follow")]
    pub(crate) time: Option<Duration>,
    /// Of a running pod read so many lines from the end of its log
    #[arg(long, value_name = "LINES", default_value_t = 1000)]
    pub(crate) tail: u32,
    /// Print every line that fits, decoded
    #[arg(long, conflicts_with_all = ["malformed", "why"])]
    pub(crate) lines: bool,
    /// Print the lines that start like an access log and cannot be read
    #[arg(long, conflicts_with = "why")]
    pub(crate) malformed: bool,
    /// Ask `why` of the first causes, and print the root cause of each: of the bundle that -s
    /// names, or of the running pod's cluster
    #[arg(long)]
    pub(crate) why: bool,
    /// How many groups and causes to print
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) top: usize,
    /// Show all evidence and all leads
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// `text`, `json` or `markdown`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: LogsOutput,
    /// How many threads read; as many as there are cores
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogsOutput {
    #[default]
    Text,
    Json,
    Markdown,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = FILTERS)]
pub(crate) struct Filters {
    /// A response flag; `-` for none
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_name = "FLAG"
    )]
    pub(crate) flag: Vec<String>,
    /// Not with this flag
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_name = "FLAG"
    )]
    pub(crate) not_flag: Vec<String>,
    /// A status: `503`, `5xx`, `500-504`
    #[arg(long, value_delimiter = ',', value_parser = Codes::parse, value_name = "CODE")]
    pub(crate) code: Vec<Codes>,
    /// Not with this status
    #[arg(long, value_delimiter = ',', value_parser = Codes::parse, value_name = "CODE")]
    pub(crate) not_code: Vec<Codes>,
    /// Part of the cluster's name
    #[arg(long, value_name = "TEXT")]
    pub(crate) cluster: Vec<String>,
    /// Not in this cluster
    #[arg(long, value_name = "TEXT")]
    pub(crate) not_cluster: Vec<String>,
    /// Part of the response code details
    #[arg(long, value_name = "TEXT")]
    pub(crate) details: Vec<String>,
    /// Not with these details
    #[arg(long, value_name = "TEXT")]
    pub(crate) not_details: Vec<String>,
    /// The start of the path; with `*`, which stands for anything, all of it
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// Not with this path
    #[arg(long, value_name = "PATH")]
    pub(crate) not_path: Vec<String>,
    /// The method
    #[arg(long, value_delimiter = ',', value_name = "METHOD")]
    pub(crate) method: Vec<String>,
    /// Not with this method
    #[arg(long, value_delimiter = ',', value_name = "METHOD")]
    pub(crate) not_method: Vec<String>,
    /// Part of the authority
    #[arg(long, value_name = "TEXT")]
    pub(crate) host: Vec<String>,
    /// Not with this authority
    #[arg(long, value_name = "TEXT")]
    pub(crate) not_host: Vec<String>,
    /// The start of the upstream's address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) upstream: Vec<String>,
    /// Not to this upstream
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) not_upstream: Vec<String>,
    /// The request's id
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Vec<String>,
    /// Not this request
    #[arg(long, value_name = "ID")]
    pub(crate) not_request_id: Vec<String>,
    /// Only what failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Started at this time or later: `2026-11-15T06:00:00Z`, or `10m` before the source was taken,
    /// without a source before now
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Started before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}
