//! `analyze`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Analyze {
    /// Files, directories with all they hold, or `-` for stdin; what `-s` names is read too
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Judge the cluster's objects together with those of the files; without files it is read anyway
    #[arg(short = 'k', long)]
    pub(crate) use_kube: bool,
    /// Directories are always read with all they hold; here for istioctl's command lines
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Exit with 79 from this level on
    #[arg(long, value_enum, default_value = "error", ignore_case = true, value_name = "LEVEL")]
    pub(crate) failure_threshold: Level,
    /// Tell findings from this level on
    #[arg(long, value_enum, default_value = "info", ignore_case = true, value_name = "LEVEL")]
    pub(crate) output_threshold: Level,
    /// Do not tell this code of these objects: `IST0128=DestinationRule shop/*`. Repeatable
    #[arg(short = 'S', long, value_name = "CODE=OBJECT", value_parser = suppression)]
    pub(crate) suppress: Vec<(String, String)>,
    /// Exit with 0 or 79 even when a document cannot be read
    #[arg(long)]
    pub(crate) ignore_unknown: bool,
    /// A MeshConfig, as YAML, that counts instead of the one in the ConfigMap
    #[arg(long = "meshConfigFile", value_name = "FILE")]
    pub(crate) mesh_config_file: Option<PathBuf>,
    /// `log`, `json` (the report of all our commands), `istio-json` or `yaml` (istioctl's messages)
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: AnalyzeOutput,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnalyzeOutput {
    #[default]
    Log,
    Json,
    IstioJson,
    Yaml,
}

fn suppression(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(_, object)| !object.contains('='));
    let (code, object) = parts.ok_or("not of the form CODE=OBJECT")?;
    Ok((code.to_owned(), object.to_owned()))
}
