//! `log-level`.

use std::time::Duration;

use super::{TextOrJson, duration, size};

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct LogLevel {
    /// Pods or workloads, such as `cart-1.shop` or `deploy/cart`; without any, every proxy of the
    /// namespace, with -A of all
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Set these levels for a while, and tell what is logged: `rbac:debug,jwt:debug`. A level
    /// alone, or of `all`, is for all components. They are set back when the time is up, on Ctrl-C,
    /// after an error, and when too much is logged
    #[arg(long, value_name = "LEVELS", conflicts_with_all = ["audit", "reset", "restore"])]
    pub(crate) level: Option<String>,
    /// For how long
    #[arg(long = "for", value_name = "TIME", default_value = "5m", value_parser = duration::parse)]
    pub(crate) time: Duration,
    /// Set a proxy back at once when it logs more than this in a second
    #[arg(long, value_name = "SIZE", default_value = "1MB", value_parser = size::parse)]
    pub(crate) max_rate: u64,
    /// Yes: all components at debug or trace, or more than 5 pods
    #[arg(long)]
    pub(crate) yes: bool,
    /// List every component, and every scope of the istiods, that is not at its default
    #[arg(long, conflicts_with_all = ["reset", "restore"])]
    pub(crate) audit: bool,
    /// Set every component that is not at its default to it; without a target the scopes of the
    /// istiods too
    #[arg(long, conflicts_with = "restore")]
    pub(crate) reset: bool,
    /// Set these levels and leave them so: what a run that could not set levels back tells to do
    #[arg(long, value_name = "LEVELS")]
    pub(crate) restore: Option<String>,
    /// Print every line of the logs, not only those of the components
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Envoy's admin port
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 15000,
        hide_short_help = true
    )]
    pub(crate) proxy_admin_port: u16,
    /// `text` or `json`, for levels and --audit
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with_all = ["level", "reset", "restore"])]
    pub(crate) output: TextOrJson,
}
