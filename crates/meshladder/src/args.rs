//! The command line, declared once; help, completions and man pages come from here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::exit;

pub(crate) mod analyze;
pub(crate) mod authz;
pub(crate) mod cluster;
mod duration;
pub(crate) mod ladder;
pub(crate) mod proxy_config;
pub(crate) mod request;
mod size;
pub(crate) mod snapshot;

pub(crate) use proxy_config::ProxyConfig;

/// Finds out why traffic in an Istio service mesh does not behave, and proves it
#[derive(Debug, Parser)]
#[command(
    name = "meshladder",
    version,
    disable_help_subcommand = true,
    before_help = "\
Examples:
  meshladder demo                                       a built-in incident, no cluster needed
  meshladder check                                      the cluster of the current context
  meshladder check -s bundle.tar.gz                     what is wrong, the root cause first
  meshladder ps -s bundle.tar.gz                        which proxies are in sync
  meshladder pc route deploy/cart -n shop -s bundle/    what one proxy would do
  meshladder pc cluster --file config_dump.json         the same from a single dump"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Read this instead of a cluster: a bundle, an istioctl bug-report, Kubernetes YAML or JSON, an Envoy config dump;
    /// a file, a directory, an archive, or `-` for stdin. Repeatable
    #[arg(short, long, global = true, value_name = "PATH")]
    pub(crate) source: Vec<PathBuf>,
    /// The namespace to look in
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// All namespaces, whatever -n says
    #[arg(short = 'A', long, global = true)]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) cluster: cluster::Cluster,
    /// Refuse sources that unpack to more than this
    #[arg(long, global = true, value_name = "SIZE", default_value = "4GiB", value_parser = size::parse)]
    pub(crate) max_size: u64,
    /// When to colour: never when NO_COLOR is set, unless `always`
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Climb the ladder for the mesh, a namespace, a workload or an object: one root cause first
    #[command(before_help = "\
Examples:
  meshladder check -s bundle.tar.gz
  meshladder check deploy/cart -n shop -s bundle.tar.gz
  meshladder check virtualservice/catalog -n shop -s bundle.tar.gz")]
    Check(ladder::Check),
    /// Climb the ladder for one request: both proxies simulated, both ends joined, one root cause first
    #[command(before_help = "\
Examples:
  meshladder why --from shop/frontend --to http://catalog.shop:8080/ -s bundle.tar.gz
  meshladder why --from tools/curl --to http://cart.shop:8080/ --seen 503/UH -s bundle.tar.gz
  meshladder why --from outside --to https://shop.example.com/ --seen 0 -o html -s bundle.tar.gz > ticket.html")]
    Why(ladder::Why),
    /// Judge objects in files, as `istioctl analyze` does: one finding a line, with its place
    #[command(before_help = "\
Examples:
  meshladder analyze manifests/
  kustomize build overlays/prod | meshladder analyze -
  meshladder analyze manifests/ --failure-threshold Warning --suppress 'IST0128=DestinationRule shop/*'
  meshladder analyze -s bundle.tar.gz -n shop -o json

Exit code: 0 nothing at the failure threshold, 79 something at it, 65 a document that cannot be read")]
    Analyze(analyze::Analyze),
    /// What a rule's code, a response flag, a details string or a gRPC status means, offline
    #[command(before_help = "\
Examples:
  meshladder explain ML0701
  meshladder explain UF,URX
  meshladder explain 'rbac_access_denied_matched_policy[ns[shop]-policy[payments]-rule[0]]'")]
    Explain {
        /// A code, a rule's name, a flag or several, response code details, a transport failure reason
        what: String,
    },
    /// Envoy's response flags: what each means, who sets it, what causes it
    #[command(before_help = "\
Examples:
  meshladder flags
  meshladder flags UH URX")]
    Flags {
        /// Flags to explain; without any, the table of all
        codes: Vec<String>,
    },
    /// Which proxies have the configuration istiod sent: SYNCED, STALE, NOT SENT, IGNORED per type
    #[command(
        visible_alias = "ps",
        before_help = "\
Examples:
  meshladder ps -s bundle.tar.gz
  meshladder ps -n shop -o json -s bug-report.tar.gz"
    )]
    ProxyStatus(ProxyStatus),
    /// What a proxy has: clusters, listeners, routes, endpoints, secrets
    #[command(
        visible_alias = "pc",
        before_help = "\
Examples:
  meshladder pc cluster cart-69cc797c6b-plkgk.shop -s bundle.tar.gz
  meshladder pc route deploy/cart -n shop --name 8080 -o json -s bundle.tar.gz
  meshladder pc endpoint deploy/cart -n shop -o wide -s bundle.tar.gz
  meshladder pc listener --file config_dump.json"
    )]
    ProxyConfig(ProxyConfig),
    /// What happens to one request: every hop, every decision, and why
    #[command(before_help = "\
Examples:
  meshladder trace --from tools/curl --to http://catalog.shop:8080/ -s bundle.tar.gz
  meshladder trace --from shop/cart -X POST --to http://payments.shop:8080/charge --verbose -s bundle.tar.gz
  meshladder trace --from outside --to https://shop.example.com/ -o json -s bundle.tar.gz
  meshladder trace --from shop/cart --requests yesterday.jsonl -s bundle.tar.gz > outcomes.jsonl

Exit code: 0 the request reaches the application, 1 it ends elsewhere, 5 that cannot be told.
Of many requests the worst counts: 3 a line that cannot be read, then 5, then 1")]
    Trace(Trace),
    /// Who may do what: the policies a proxy has, and what they decide of one request
    #[command(before_help = "\
Examples:
  meshladder authz check deploy/payments -n shop -s bundle.tar.gz
  meshladder authz check --from tools/curl -X POST --to http://payments.shop:8080/charge -s bundle.tar.gz")]
    Authz(authz::Authz),
    /// Where istioctl keeps `authz`
    #[command(hide = true, aliases = ["x", "exp"], before_help = "\
Examples:
  meshladder x authz check deploy/payments -n shop -s bundle.tar.gz")]
    Experimental(authz::Experimental),
    /// Make, list and check bundles
    #[command(before_help = "\
Examples:
  meshladder bundle list bundle.tar.gz
  meshladder bundle pack incident.tar.zst -s bug-report.tar.gz
  meshladder bundle verify incident.tar.zst")]
    Bundle(Bundle),
    /// Read a cluster once into a bundle, without secrets, with what could not be read
    #[command(before_help = "\
Examples:
  meshladder snapshot incident.tar.zst
  meshladder snapshot incident.tar.zst -n shop --proxies all --since 1h
  meshladder snapshot incident/ --proxies deploy/cart --logs all
  meshladder snapshot night.tar.zst --watch-for UH --every 1m")]
    Snapshot(snapshot::Snapshot),
    /// The least rights that each command needs, as YAML
    #[command(before_help = "\
Examples:
  meshladder rbac --for check | kubectl apply -f -
  meshladder rbac --for why -n shop
  meshladder rbac --for snapshot --check")]
    Rbac(snapshot::Rbac),
    /// A built-in incident, no cluster needed
    #[command(before_help = "\
Examples:
  meshladder demo")]
    Demo,
    /// Version, commit, and the Istio and Envoy versions it reads
    #[command(before_help = "\
Examples:
  meshladder version
  meshladder version -o json")]
    Version(Version),
    /// Write the completion script of a shell to stdout
    #[command(before_help = "\
Examples:
  meshladder completion bash > /etc/bash_completion.d/meshladder
  meshladder completion fish > ~/.config/fish/completions/meshladder.fish")]
    Completion {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the man pages into a directory
    #[command(before_help = "\
Examples:
  meshladder man ~/.local/share/man/man1")]
    Man {
        /// The directory
        directory: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProxyStatus {
    /// `table`, `wide` (with ages and revisions), `json` or `yaml`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: StatusOutput,
    /// 1 prints istioctl's own wide table
    #[arg(short, long, default_value_t = 0, value_name = "N")]
    pub(crate) verbosity: u8,
    /// Only proxies that this revision's istiods serve
    #[arg(short, long, value_name = "REVISION")]
    pub(crate) revision: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusOutput {
    #[default]
    Table,
    Wide,
    Json,
    Yaml,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) request: request::RequestFlags,
    #[command(flatten)]
    pub(crate) reading: cluster::Reading,
    /// Many requests, one JSON object a line (`-` for stdin): `{"from":"shop/cart","to":"http://catalog:8080/"}`, with the
    /// other flags' names as members. What a line leaves out, the flags say. Prints an outcome a line
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) requests: Option<PathBuf>,
    /// Show the candidates that lost, each with its reason
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// `text` or `json`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TextOrJson,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Bundle {
    #[command(subcommand)]
    pub(crate) command: BundleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Write what the sources hold, without secrets, as one bundle
    #[command(before_help = "\
Examples:
  meshladder bundle pack incident.tar.zst -s bug-report.tar.gz
  meshladder bundle pack incident/ -s dumps/")]
    Pack {
        /// Where to: `.tar`, `.tar.gz`, `.tar.zst`, or a directory
        to: PathBuf,
    },
    /// What a source holds, and what it lacks
    #[command(before_help = "\
Examples:
  meshladder bundle list incident.tar.zst
  meshladder bundle list -s manifests/ -o json")]
    List {
        /// The source; or name it with -s
        path: Option<PathBuf>,
        /// `text` or `json`
        #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
        output: TextOrJson,
    },
    /// Read every document strictly and look for secrets
    #[command(before_help = "\
Examples:
  meshladder bundle verify incident.tar.zst")]
    Verify {
        /// The source; or name it with -s
        path: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Version {
    /// `text` or `json`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TextOrJson,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    #[default]
    Text,
    Json,
}

/// The whole command line, under the name the program was called by: `kubectl meshladder` when it is a plugin.
pub(crate) fn command(program: Option<&OsString>) -> clap::Command {
    let stem = program.and_then(|p| Path::new(p).file_stem()).and_then(|stem| stem.to_str());
    let command = Args::command();
    if stem == Some("kubectl-meshladder") {
        return as_plugin(command).bin_name("kubectl meshladder");
    }
    command
}

/// The examples under the plugin's name, in every subcommand.
fn as_plugin(command: clap::Command) -> clap::Command {
    let examples =
        command.get_before_help().map(|text| text.to_string().replace("  meshladder ", "  kubectl meshladder "));
    let command = command.mut_subcommands(as_plugin);
    if let Some(examples) = examples { command.before_help(examples) } else { command }
}

/// Parses; on wrong usage, or when help was asked for, prints and gives the exit code.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Args, ExitCode> {
    let istioctls =
        subcommand(&words).is_some_and(|word| ["ps", "proxy-status", "pc", "proxy-config", "analyze"].contains(&word));
    let usage = if istioctls { exit::ISTIOCTL_USAGE } else { exit::USAGE };
    // clap prints what is wrong before `--color` is parsed.
    let never = words.windows(2).any(|pair| pair[0] == "--color" && pair[1] == "never")
        || words.iter().any(|w| w == "--color=never");
    let choice = if never { clap::ColorChoice::Never } else { clap::ColorChoice::Auto };
    let parsed = command(words.first()).color(choice).try_get_matches_from(words);
    parsed.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|error| {
        // Printing fails only when nobody listens.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(usage) } else { ExitCode::SUCCESS }
    })
}

/// The first word that is no flag and no flag's value.
fn subcommand(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word {
            "-s" | "--source" | "-n" | "--namespace" | "--max-size" | "--color" => drop(words.next()),
            _ if cluster::VALUES.contains(&word) => drop(words.next()),
            _ if word.starts_with('-') => {}
            _ => return Some(word),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command(None).debug_assert();
    }
}
