//! `snapshot` and `rbac`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use meshladder_collect::live::Purpose;

use super::cluster::Reading;
use super::duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Snapshot {
    /// Where to: `.tar`, `.tar.gz`, `.tar.zst`, or a directory
    #[arg(value_name = "FILE|DIR")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Which logs: of `proxies` and istiods, of `all` containers of the pods that are read, or
    /// `none`
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) logs: LogChoice,
    /// Only say what would be read and how large it may be
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Look again and again, and write the bundle when this appears: a rule's code (`ML0701`) as a
    /// finding, or a response flag (`UH`) in an access log. An error that comes at night is then in
    /// the bundle in the morning
    #[arg(long, value_name = "FINDING|FLAG", conflicts_with = "dry_run")]
    pub(crate) watch_for: Option<String>,
    /// How long to wait between two looks
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration::parse, requires = "watch_for")]
    pub(crate) every: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogChoice {
    #[default]
    Proxies,
    All,
    None,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rbac {
    /// For which command
    #[arg(long = "for", value_name = "COMMAND", default_value = "check", value_parser = purposes())]
    pub(crate) purpose: Purpose,
    /// Ask the cluster which of these rights are missing
    #[arg(long)]
    pub(crate) check: bool,
}

fn purposes() -> impl TypedValueParser<Value = Purpose> {
    let find = |word: String| {
        Purpose::ALL
            .into_iter()
            .find(|purpose| purpose.word() == word)
    };
    PossibleValuesParser::new(Purpose::ALL.map(Purpose::word))
        .try_map(move |word| find(word).ok_or("no such command"))
}
