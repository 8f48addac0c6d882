//! The command line, declared once; help, completions and man pages come from here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::exit;

pub(crate) mod analyze;
pub(crate) mod authz;
pub(crate) mod cluster;
mod command;
pub(crate) mod describe;
pub(crate) mod diff;
mod duration;
pub(crate) mod ladder;
pub(crate) mod log_level;
pub(crate) mod logs;
pub(crate) mod monitor;
pub(crate) mod prometheus;
pub(crate) mod proxy_config;
pub(crate) mod request;
pub(crate) mod runbook;
mod size;
pub(crate) mod snapshot;
pub(crate) mod ztunnel_config;

pub(crate) use command::Command;
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
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// Read this instead of a cluster: a bundle, an istioctl bug-report, Kubernetes YAML or JSON,
    /// an Envoy config dump; a file, a directory, an archive, or `-` for stdin. Repeatable; NAME is
    /// what its cluster is called
    #[arg(short, long, global = true, value_name = "[NAME=]PATH")]
    pub(crate) source: Vec<PathBuf>,
    /// The namespace to look in
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// All namespaces, whatever -n says
    #[arg(short = 'A', long, global = true)]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) cluster: cluster::Cluster,
    /// Refuse documents that take more memory than this, all in all [default: 1GiB; unpacked on disk 4GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) max_size: Option<u64>,
    /// When to colour: never when NO_COLOR is set, unless `always`
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", num_args = 0..=1, default_missing_value = "always")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    #[default]
    Auto,
    #[value(alias = "true")]
    Always,
    #[value(alias = "false")]
    Never,
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
    /// Many requests, one JSON object a line (`-` for stdin):
    /// `{"from":"shop/cart","to":"http://catalog:8080/"}`, with the other flags' names as members.
    /// What a line leaves out, the flags say. Prints an outcome a line
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

/// The whole command line, under the name the program was called by: `kubectl meshladder` when it
/// is a plugin.
pub(crate) fn command(program: Option<&OsString>) -> clap::Command {
    let stem = program
        .and_then(|p| Path::new(p).file_stem())
        .and_then(|stem| stem.to_str());
    let command = Args::command();
    if stem == Some("kubectl-meshladder") {
        return as_plugin(command).bin_name("kubectl meshladder");
    }
    command
}

/// The examples under the plugin's name, in every subcommand.
fn as_plugin(command: clap::Command) -> clap::Command {
    let examples = command.get_before_help().map(|text| {
        text.to_string()
            .replace("  meshladder ", "  kubectl meshladder ")
    });
    let command = command.mut_subcommands(as_plugin);
    if let Some(examples) = examples {
        command.before_help(examples)
    } else {
        command
    }
}

/// Parses; on wrong usage, or when help was asked for, prints and gives the exit code.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Args, ExitCode> {
    let command = command(words.first());
    let usage = match subcommand(&command, &words).map(clap::Command::get_name) {
        Some("proxy-status" | "proxy-config" | "analyze" | "describe" | "remote-clusters") => {
            exit::ISTIOCTL_USAGE
        }
        _ => exit::USAGE,
    };
    // clap prints what is wrong before `--color` is parsed.
    let never = words
        .windows(2)
        .any(|pair| pair[0] == "--color" && pair[1] == "never")
        || words.iter().any(|w| w == "--color=never");
    let choice = if never {
        clap::ColorChoice::Never
    } else {
        clap::ColorChoice::Auto
    };
    let parsed = command.color(choice).try_get_matches_from(words);
    parsed
        .and_then(|matches| Args::from_arg_matches(&matches))
        .map_err(|error| {
            // Printing fails only when nobody listens.
            let _ = error.print();
            if error.use_stderr() {
                ExitCode::from(usage)
            } else {
                ExitCode::SUCCESS
            }
        })
}

/// The subcommand that is called: the first word that is no flag and no flag's value. clap does not
/// say it when the rest of the line is wrong.
fn subcommand<'c>(command: &'c clap::Command, words: &[OsString]) -> Option<&'c clap::Command> {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if takes_value(command, word) {
            words.next();
        } else if !word.starts_with('-') {
            return command.find_subcommand(word);
        }
    }
    None
}

/// Whether the word is a flag whose value is the next word.
fn takes_value(command: &clap::Command, word: &str) -> bool {
    let Some(flag) = command.get_arguments().find(|flag| is_called(flag, word)) else {
        return false;
    };
    flag.get_action().takes_values()
}

fn is_called(flag: &clap::Arg, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let aliases = flag.get_all_aliases().unwrap_or_default();
        return flag.get_long() == Some(long) || aliases.contains(&long);
    }
    let short = word.strip_prefix('-').and_then(|rest| rest.parse().ok());
    short.is_some() && flag.get_short() == short
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command(None).debug_assert();
    }

    #[test]
    fn the_subcommand_is_found_behind_flags_and_their_values() {
        for (line, expected) in [
            ("meshladder ps -x", Some("proxy-status")),
            ("meshladder -s check pc --nonsense", Some("proxy-config")),
            (
                "meshladder --istioNamespace check -A analyze",
                Some("analyze"),
            ),
            ("meshladder --source=a -i b -n c des", Some("describe")),
            ("meshladder --color never --as ps check", Some("check")),
            ("meshladder nonsense ps", None),
            ("meshladder -s", None),
        ] {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            let command = super::command(None);
            let found = super::subcommand(&command, &words).map(clap::Command::get_name);
            assert_eq!(found, expected, "{line}");
        }
    }
}
