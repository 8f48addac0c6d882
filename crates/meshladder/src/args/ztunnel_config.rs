//! `ztunnel-config` and `waypoint`, with istioctl's names, aliases and flags.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, clap::Args)]
pub(crate) struct ZtunnelConfig {
    #[command(subcommand)]
    pub(crate) listing: ZtunnelListing,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ZtunnelListing {
    /// Everything a dump holds
    #[command(before_help = "\
Examples:
  meshladder zc all --node node-a -s bundle.tar.gz")]
    All {
        #[command(flatten)]
        common: ZtunnelCommon,
        /// Put a headline before each part
        #[arg(long)]
        with_headers: bool,
    },
    /// Every workload of the mesh, how it is reached and through which waypoint
    #[command(visible_aliases = ["w", "workloads"], before_help = "\
Examples:
  meshladder zc workload --workload-namespace shop -s bundle.tar.gz")]
    Workload {
        #[command(flatten)]
        common: ZtunnelCommon,
        /// Only the workload with this address
        #[arg(long)]
        address: Option<String>,
        /// Only workloads of this namespace
        #[arg(long, value_name = "NAMESPACE")]
        workload_namespace: Option<String>,
        /// Only workloads of this node
        #[arg(long, value_name = "NODE")]
        workload_node: Option<String>,
    },
    /// Every service of the mesh, its addresses, waypoint and endpoints
    #[command(visible_aliases = ["services", "s", "svc"], before_help = "\
Examples:
  meshladder zc service --service-namespace shop -s bundle.tar.gz")]
    Service {
        #[command(flatten)]
        common: ZtunnelCommon,
        /// Only services of this namespace
        #[arg(long, value_name = "NAMESPACE")]
        service_namespace: Option<String>,
    },
    /// The policies of layer 4, as istiod made them
    #[command(visible_aliases = ["policies", "p", "pol"], before_help = "\
Examples:
  meshladder zc policy -s bundle.tar.gz")]
    Policy {
        #[command(flatten)]
        common: ZtunnelCommon,
        /// Only policies of this namespace
        #[arg(long, value_name = "NAMESPACE")]
        policy_namespace: Option<String>,
    },
    /// The certificates of the pods on its node
    #[command(visible_aliases = ["certificates", "certs", "cert"], before_help = "\
Examples:
  meshladder zc certificate --node node-a -s bundle.tar.gz")]
    Certificate {
        #[command(flatten)]
        common: ZtunnelCommon,
    },
    /// Open connections of the pods on its node
    #[command(
        visible_alias = "cons",
        before_help = "\
Examples:
  meshladder zc connections --node node-a --direction inbound -s bundle.tar.gz"
    )]
    Connections {
        #[command(flatten)]
        common: ZtunnelCommon,
        /// `inbound` or `outbound`
        #[arg(long, value_enum, value_name = "DIRECTION")]
        direction: Option<Way>,
        /// Addresses as they are, not named after Services and pods
        #[arg(long)]
        raw: bool,
        /// Only pods of this namespace
        #[arg(long, value_name = "NAMESPACE")]
        workload_namespace: Option<String>,
    },
    /// The log levels that a ztunnel has
    #[command(
        visible_alias = "o",
        before_help = "\
Examples:
  meshladder zc log ztunnel-jdzj6.istio-system -s bundle.tar.gz"
    )]
    Log {
        /// The ztunnel: `pod.namespace`; all of them without one
        #[arg(value_name = "TARGET")]
        target: Option<String>,
    },
}

/// Which ztunnel, and how it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct ZtunnelCommon {
    /// A ztunnel (`pod.namespace`), or a pod whose node's ztunnel is meant
    #[arg(value_name = "TARGET", conflicts_with_all = ["file", "node"])]
    pub(crate) target: Option<String>,
    /// Read this config dump (`-`: stdin)
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["source", "node"])]
    pub(crate) file: Option<PathBuf>,
    /// The ztunnel of this node
    #[arg(long, value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// ztunnel's admin port, on a running one
    #[arg(long, value_name = "PORT", default_value_t = 15000, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) proxy_admin_port: u16,
    /// `short`, `json` or `yaml`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: ZtunnelOutput,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZtunnelOutput {
    #[default]
    Short,
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    Inbound,
    Outbound,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Waypoint {
    #[command(subcommand)]
    pub(crate) listing: WaypointListing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum WaypointListing {
    /// The waypoints of a namespace, or with -A of all
    #[command(before_help = "\
Examples:
  meshladder waypoint list -A -s bundle.tar.gz")]
    List,
    /// Whether waypoints are programmed, and what istiod says of them
    #[command(before_help = "\
Examples:
  meshladder waypoint status -n shop -s bundle.tar.gz")]
    Status,
}
