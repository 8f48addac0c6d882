//! `describe`.

use clap::ValueEnum;

use super::cluster::Reading;

#[derive(Debug, clap::Args)]
pub(crate) struct Describe {
    /// `pod`, `service`, `virtualservice` or `gateway`, or an abbreviation; or `kind/name` at once
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// The name, also as `name.namespace`
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// `text` or `json`
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: DescribeOutput,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DescribeOutput {
    #[default]
    Text,
    Json,
}
