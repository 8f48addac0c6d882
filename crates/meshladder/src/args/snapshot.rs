//! `snapshot` and `rbac`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::cluster::Reading;

#[derive(Debug, clap::Args)]
pub(crate) struct Snapshot {
    /// Where to: `.tar`, `.tar.gz`, `.tar.zst`, or a directory
    #[arg(value_name = "FILE|DIR")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Which logs: of `proxies` and istiods, of `all` containers of the pods that are read, or `none`
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) logs: WhichLogs,
    /// Only say what would be read and how large it may be
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichLogs {
    #[default]
    Proxies,
    All,
    None,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rbac {
    /// For which command
    #[arg(long = "for", value_enum, default_value_t, value_name = "COMMAND")]
    pub(crate) purpose: Purpose,
    /// Ask the cluster which of these rights are missing
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    #[default]
    Check,
    Why,
    Analyze,
    ProxyStatus,
    ProxyConfig,
    Snapshot,
    LogLevel,
}
