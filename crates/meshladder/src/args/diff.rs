//! `diff`.

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// A pod (`cart-1.shop`) or a workload (`deploy/cart`) of the cluster or of -s, a config dump,
    /// a bundle, or with another of its kind `revision/NAME`. Alone: a workload, whose replicas are
    /// compared with each other
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// Another such, or `istiod`: what istiod would send to A
    #[arg(value_name = "B")]
    pub(crate) b: Option<String>,
    /// `text`, `json`, `markdown` or `html`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: DiffOutput,
    /// Show every part that differs
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// List the differences that are expected too: own addresses and names, versions, times,
    /// certificates
    #[arg(long)]
    pub(crate) show_noise: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffOutput {
    #[default]
    Text,
    Json,
    Markdown,
    Html,
}
