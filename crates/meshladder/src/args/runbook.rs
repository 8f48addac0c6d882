//! `runbook`.

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct Runbook {
    /// The page for what was found: a rule's code or name; needs a source. Without a finding of it,
    /// the rule's own page
    #[arg(long = "for", value_name = "CODE", conflicts_with = "as_script")]
    pub(crate) code: Option<String>,
    /// The ladder as a shell script that needs only kubectl and curl
    #[arg(long)]
    pub(crate) as_script: bool,
    /// `markdown` or `html`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: PageOutput,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageOutput {
    #[default]
    Markdown,
    Html,
}
