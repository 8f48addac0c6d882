//! `analyze`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct Analyze {
    /// Files, directories with all they hold, or `-` for stdin. With `-s` they are judged on top of
    /// what that names: an object in a file replaces the cluster's
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Judge on top of the cluster's objects: of the one named with -s, else of the live one;
    /// without files that is read anyway
    #[arg(short = 'k', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) use_kube: Option<bool>,
    /// Directories are always read with all they hold; here for istioctl's command lines
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Exit with 79 from this level on
    #[arg(
        long,
        value_enum,
        default_value = "error",
        ignore_case = true,
        value_name = "LEVEL"
    )]
    pub(crate) failure_threshold: Level,
    /// Tell findings from this level on
    #[arg(
        long,
        value_enum,
        default_value = "info",
        ignore_case = true,
        value_name = "LEVEL"
    )]
    pub(crate) output_threshold: Level,
    /// Run only these rules: by code, name, another tool's code, or the start of codes, such as
    /// `ML21`. Repeatable, or a list with commas
    #[arg(long, alias = "analyzer", value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not run these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Do not tell this code of these objects: `IST0128=DestinationRule shop/*`. Repeatable
    #[arg(short = 'S', long, value_name = "CODE=OBJECT", value_parser = suppression)]
    pub(crate) suppress: Vec<(String, String)>,
    /// Exit with 0 or 79 even when a document cannot be read
    #[arg(long)]
    pub(crate) ignore_unknown: bool,
    /// A MeshConfig, as YAML, that counts instead of the one in the ConfigMap
    #[arg(long = "meshConfigFile", value_name = "FILE")]
    pub(crate) mesh_config_file: Option<PathBuf>,
    /// MeshNetworks, as YAML, that count instead of those in the ConfigMap
    #[arg(long = "meshNetworksFile", value_name = "FILE")]
    pub(crate) mesh_networks_file: Option<PathBuf>,
    /// Leave out Istio's objects that are labelled with another revision
    #[arg(short, long, value_name = "REVISION")]
    pub(crate) revision: Option<String>,
    /// istioctl's way to name the other clusters: refused, with what to use instead
    #[arg(long, value_name = "CONTEXT", hide = true)]
    pub(crate) remote_contexts: Option<String>,
    /// Another cluster's objects, for checks across clusters. Repeatable
    #[arg(long, value_name = "NAME=FILE", value_parser = cluster_file)]
    pub(crate) cluster_file: Vec<(String, PathBuf)>,
    /// Change the files so that the findings with a safe fix go away; comments and order stay
    #[arg(long, conflicts_with = "diff")]
    pub(crate) fix: bool,
    /// Show what --fix would change, and change nothing
    #[arg(long)]
    pub(crate) diff: bool,
    /// Also tell which rules ran and which did not, on stderr
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// On a terminal `text`, else `log`
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<AnalyzeOutput>,
    /// List the rules and stop
    #[arg(short = 'L', long)]
    pub(crate) list_analyzers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnalyzeOutput {
    /// Findings on the lines of the files they are about
    Text,
    /// istioctl's lines
    Log,
    /// The report of all our commands
    Json,
    /// istioctl's messages
    IstioJson,
    /// istioctl's messages, as YAML
    Yaml,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Annotations of a GitHub workflow
    Github,
    /// For a comment or a ticket
    Markdown,
}

fn suppression(text: &str) -> Result<(String, String), String> {
    let parts = text
        .split_once('=')
        .filter(|(_, object)| !object.contains('='));
    let (code, object) = parts.ok_or("not of the form CODE=OBJECT")?;
    Ok((code.to_owned(), object.to_owned()))
}

fn cluster_file(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text
        .split_once('=')
        .filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) = parts.ok_or("not of the form NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}
