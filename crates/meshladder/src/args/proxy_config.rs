//! `proxy-config` and its listings, with istioctl's names, aliases and flags.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use meshladder_output::tables::{cluster, eds, listener};

#[derive(Debug, clap::Args)]
pub(crate) struct ProxyConfig {
    #[command(subcommand)]
    pub(crate) listing: Listing,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Listing {
    /// Everything a dump holds
    #[command(
        visible_alias = "a",
        before_help = "\
Examples:
  meshladder pc all deploy/cart -n shop -s bundle.tar.gz"
    )]
    All {
        #[command(flatten)]
        common: Common,
        /// Put a headline before each part
        #[arg(long)]
        with_headers: bool,
        #[command(flatten)]
        verbose: Verbose,
        #[command(flatten)]
        clusters: ClusterFilter,
        #[command(flatten)]
        listeners: ListenerFilter,
        /// Only clusters and listeners of this port
        #[arg(long)]
        port: Option<u64>,
        /// Only the route configuration of this name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// The bootstrap configuration (`-o short`: versions)
    #[command(
        visible_alias = "b",
        before_help = "\
Examples:
  meshladder pc bootstrap --file config_dump.json -o short"
    )]
    Bootstrap {
        #[command(flatten)]
        from: From,
        /// `json`, `yaml` or `short`
        #[arg(short, long, value_enum, default_value_t = Output::Json, value_name = "FORMAT")]
        output: Output,
    },
    /// Clusters
    #[command(visible_aliases = ["clusters", "c"], before_help = "\
Examples:
  meshladder pc cluster deploy/cart -n shop --fqdn catalog -s bundle.tar.gz")]
    Cluster {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        filter: ClusterFilter,
        /// Only clusters of this port
        #[arg(long)]
        port: Option<u64>,
    },
    /// Filters delivered by ECDS
    #[command(
        visible_alias = "ec",
        before_help = "\
Examples:
  meshladder pc ecds --file config_dump.json"
    )]
    Ecds {
        #[command(flatten)]
        common: Common,
    },
    /// Endpoints as EDS gave them (from the dump)
    #[command(before_help = "\
Examples:
  meshladder pc eds --file config_dump.json --port 8080")]
    Eds {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        filter: EndpointFilter,
    },
    /// Endpoints as Envoy has them, with their health (from /clusters)
    #[command(visible_aliases = ["endpoints", "ep"], before_help = "\
Examples:
  meshladder pc endpoint deploy/cart -n shop -o wide -s bundle.tar.gz")]
    Endpoint {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        filter: EndpointFilter,
    },
    /// Listeners and their filter chains
    #[command(visible_aliases = ["listeners", "l"], before_help = "\
Examples:
  meshladder pc listener --file config_dump.json --port 8080")]
    Listener {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        verbose: Verbose,
        #[command(flatten)]
        filter: ListenerFilter,
        /// Only listeners on this port
        #[arg(long)]
        port: Option<u64>,
    },
    /// Log levels
    #[command(
        visible_alias = "o",
        before_help = "\
Examples:
  meshladder pc log deploy/cart -n shop -s bundle.tar.gz
  meshladder pc log cart-1.shop --level rbac:debug             stays so; `log-level` sets it back by itself"
    )]
    Log {
        #[command(flatten)]
        from: From,
        /// Levels to set, such as `rbac:debug`; needs a running proxy
        #[arg(long, value_name = "LEVELS", conflicts_with = "reset")]
        level: Option<String>,
        /// Restore the default level; needs a running proxy
        #[arg(short, long)]
        reset: bool,
        /// Pods by label
        #[arg(short = 'l', long, value_name = "SELECTOR")]
        selector: Option<String>,
    },
    /// Whether two proxies trust the same root certificate
    #[command(
        visible_alias = "rc",
        before_help = "\
Examples:
  meshladder pc rootca-compare cart-1.shop catalog-1.shop -s bundle.tar.gz"
    )]
    RootcaCompare {
        /// One proxy
        first: String,
        /// The other
        second: String,
    },
    /// Routes
    #[command(visible_aliases = ["routes", "r"], before_help = "\
Examples:
  meshladder pc route --file config_dump.json --name 8080 -o wide")]
    Route {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        verbose: Verbose,
        /// Only the route configuration of this name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Certificates and roots
    #[command(visible_aliases = ["secrets", "s"], before_help = "\
Examples:
  meshladder pc secret deploy/cart -n shop -o wide -s bundle.tar.gz")]
    Secret {
        #[command(flatten)]
        common: Common,
    },
}

/// Where the document comes from.
#[derive(Debug, clap::Args)]
pub(crate) struct From {
    /// The proxy: `pod.namespace`, `deploy/name`, `svc/name`, …; not needed when the source has
    /// just one
    #[arg(value_name = "TARGET", conflicts_with = "file")]
    pub(crate) target: Option<String>,
    /// Read this document (`-`: stdin) instead of asking for a proxy
    #[arg(short, long, value_name = "FILE", conflicts_with = "source")]
    pub(crate) file: Option<PathBuf>,
    /// Envoy's admin port, on a running proxy
    #[arg(long, value_name = "PORT", default_value_t = 15000, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) proxy_admin_port: u16,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) from: From,
    /// `short`, `wide` (what istioctl leaves out), `json` or `yaml`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    #[default]
    Short,
    Wide,
    Json,
    Yaml,
}

/// istioctl's `--verbose`, which is on unless it is switched off.
#[derive(Debug, clap::Args)]
pub(crate) struct Verbose {
    /// A row a filter chain or route; `--verbose=false` gives a row a resource
    #[arg(long, default_value_t = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub(crate) verbose: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ClusterFilter {
    /// Only clusters whose name contains this
    #[arg(long)]
    fqdn: Option<String>,
    /// Clusters: `inbound` or `outbound`
    #[arg(long)]
    direction: Option<String>,
    /// Only clusters of this subset
    #[arg(long)]
    subset: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListenerFilter {
    /// Only listeners on this address
    #[arg(long)]
    address: Option<String>,
    /// Listeners: `HTTP`, `TCP`, `HTTP+TCP` or `UNKNOWN`
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EndpointFilter {
    /// Only endpoints at this address
    #[arg(long)]
    address: Option<String>,
    /// Only endpoints on this port
    #[arg(long)]
    port: Option<u64>,
    /// Only endpoints of this cluster
    #[arg(long)]
    cluster: Option<String>,
    /// `healthy`, `unhealthy`, …
    #[arg(long)]
    status: Option<String>,
}

impl ClusterFilter {
    pub(crate) fn filter(&self, port: Option<u64>) -> cluster::ClusterFilter {
        let Self {
            fqdn,
            direction,
            subset,
        } = self;
        cluster::ClusterFilter {
            fqdn: fqdn.clone(),
            direction: direction.clone(),
            subset: subset.clone(),
            port,
        }
    }
}

impl ListenerFilter {
    pub(crate) fn filter(&self, port: Option<u64>) -> listener::ListenerFilter {
        listener::ListenerFilter {
            address: self.address.clone(),
            port,
            kind: self.kind.clone(),
        }
    }
}

impl EndpointFilter {
    pub(crate) fn filter(&self) -> eds::EndpointFilter {
        let Self {
            address,
            port,
            cluster,
            status,
        } = self;
        eds::EndpointFilter {
            address: address.clone(),
            port: *port,
            cluster: cluster.clone(),
            status: status.clone(),
        }
    }
}
