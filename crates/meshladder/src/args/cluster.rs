//! How a cluster is reached, and how much of it is read.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::duration;

/// Each flag says it: the heading of a flattened group would go on over the flags after it.
const HEADING: &str = "Cluster, when there is no -s";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Cluster {
    /// The kubeconfig; else $KUBECONFIG, else the usual file, else the pod this runs in
    #[arg(help_heading = HEADING, long, global = true, value_name = "FILE", hide_short_help = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context; else the current one. Repeatable: several clusters are judged together
    #[arg(help_heading = HEADING, long, global = true, value_name = "NAME")]
    pub(crate) context: Vec<String>,
    /// Act as this user
    #[arg(help_heading = HEADING, long = "as", global = true, value_name = "USER", hide_short_help = true)]
    pub(crate) impersonate: Option<String>,
    /// Act as a member of this group. Repeatable
    #[arg(help_heading = HEADING, long = "as-group", global = true, value_name = "GROUP", requires = "impersonate", hide_short_help = true)]
    pub(crate) groups: Vec<String>,
    /// Act with this user id
    #[arg(help_heading = HEADING, long = "as-uid", global = true, value_name = "UID", requires = "impersonate", hide_short_help = true)]
    pub(crate) uid: Option<String>,
    /// How long reading may take in all; what was read by then is used, and the report says what is
    /// missing
    #[arg(help_heading = HEADING, long, global = true, value_name = "TIME", default_value = "2m", value_parser = duration::parse, hide_short_help = true)]
    pub(crate) timeout: Duration,
    /// How long one request may take
    #[arg(help_heading = HEADING, long, global = true, value_name = "TIME", default_value = "30s", value_parser = duration::parse, hide_short_help = true)]
    pub(crate) request_timeout: Duration,
    /// How many requests may be under way
    #[arg(help_heading = HEADING, long, global = true, value_name = "N", default_value_t = 16, value_parser = parse_count, hide_short_help = true)]
    pub(crate) concurrency: usize,
    /// Where istiod runs
    #[arg(help_heading = HEADING,
        short,
        long,
        alias = "istioNamespace",
        global = true,
        value_name = "NAMESPACE",
        default_value = "istio-system",
        hide_short_help = true
    )]
    pub(crate) istio_namespace: String,
}

/// How much of a cluster is read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Reading {
    /// Which proxies are read: `all`, `sample:N` (of as many workloads as can be), `none`, or those
    /// of a workload. Without it those that the question is about, or a sample of 50
    #[arg(help_heading = HEADING, long, value_name = "WHICH")]
    pub(crate) proxies: Option<Proxies>,
    /// Read logs only from so long ago on: `10m`
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) since: Option<Duration>,
    /// Read so many lines from the end of each log
    #[arg(help_heading = HEADING, long, value_name = "LINES", default_value_t = 1000)]
    pub(crate) tail: u32,
}

/// What `--proxies` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proxies {
    All,
    None,
    Sample(usize),
    Of(String),
}

impl FromStr for Proxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.split_once(':') {
            Some(("sample", count)) => Self::Sample(
                count
                    .parse()
                    .map_err(|_| format!("`{count}` is no number: try sample:20"))?,
            ),
            _ if text == "all" => Self::All,
            _ if text == "none" => Self::None,
            _ => Self::Of(text.to_owned()),
        })
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1000) => Ok(count),
        _ => Err("a number from 1 to 1000".to_owned()),
    }
}
