//! `analyze`: what objects in files say, one finding a line.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use meshladder_core::finding::Severity;
use meshladder_core::ladder::{self, Analysis};
use meshladder_core::mesh::{Beside, Mesh};
use meshladder_core::render::{messages, report::to_json};
use meshladder_core::rules;

use super::{ladder::paint, source};
use crate::args::Global;
use crate::args::analyze::{Analyze, AnalyzeOutput, Level};
use crate::exit::{Failure, ISTIOCTL_USAGE, Outcome, UNREADABLE};
use crate::out;

/// istioctl's code for findings at the threshold.
const FOUND: u8 = 79;
/// istioctl's code for documents it cannot read.
const NOT_PARSED: u8 = 65;

pub(super) fn run(global: &Global, args: &Analyze) -> Outcome {
    if args.list_analyzers {
        return list();
    }
    let paths = paths(global, args)?;
    let snapshot = source::read(&paths, global)?;
    let mesh_config = text_of(args.mesh_config_file.as_ref())?;
    let mesh_networks = text_of(args.mesh_networks_file.as_ref())?;
    let beside = Beside {
        mesh_config: mesh_config.as_deref(),
        mesh_networks: mesh_networks.as_deref(),
        clusters: clusters(args, paths.len()),
    };
    let mut judged = snapshot.sources().filter(|(source, _)| !beside.clusters.contains_key(*source));
    let is_files = judged.all(|(_, meta)| meta.is_none_or(|meta| meta.form == "files"));
    let mesh = if is_files { Mesh::of_files(&snapshot, &beside) } else { Mesh::build_beside(&snapshot, &beside) };
    for problem in &mesh.problems {
        out::warn(&problem.to_string());
    }
    let analysis = Analysis {
        namespace: global.namespace.clone().filter(|_| !args.all_namespaces),
        suppress: args.suppress.clone(),
        least: severity(args.output_threshold),
    };
    let report = ladder::analyze(&snapshot, &mesh, &analysis);
    let mut stdout = out::stdout();
    match args.output {
        AnalyzeOutput::Log => write!(stdout, "{}", messages::to_log(&report, paint(global, false)))?,
        AnalyzeOutput::Json => writeln!(stdout, "{}", to_json(&report))?,
        AnalyzeOutput::IstioJson => writeln!(stdout, "{}", messages::to_json(&report))?,
        AnalyzeOutput::Yaml => write!(stdout, "{}", messages::to_yaml(&report))?,
    }
    stdout.flush()?;
    if report.findings.is_empty() && std::io::stderr().is_terminal() {
        out::note("no validation issues found");
    }
    let has_problems = !mesh.problems.is_empty() || !snapshot.problems().is_empty();
    Ok(match () {
        () if has_problems && !args.ignore_unknown => NOT_PARSED,
        () if report.has(severity(args.failure_threshold)) => FOUND,
        () => 0,
    })
}

/// What is judged, then the files of other clusters.
fn paths<'a>(global: &'a Global, args: &'a Analyze) -> Result<Vec<&'a PathBuf>, Failure> {
    let others = args.cluster_file.iter().map(|(_, file)| file);
    let paths: Vec<&PathBuf> = args.paths.iter().chain(&global.source).chain(others).collect();
    if paths.is_empty() {
        let hint = "name files or directories, `-` for stdin, or with -s a bundle";
        return Err(Failure::new(ISTIOCTL_USAGE, "nothing to analyze").hint(hint));
    }
    Ok(paths)
}

/// The cluster of each source that is another cluster's. A source has the number of its path; an only one has none.
fn clusters(args: &Analyze, paths: usize) -> BTreeMap<String, String> {
    let first = paths - args.cluster_file.len();
    let numbered = args.cluster_file.iter().enumerate();
    let source = |at: usize| if paths > 1 { (first + at + 1).to_string() } else { String::new() };
    numbered.map(|(at, (name, _))| (source(at), name.clone())).collect()
}

fn text_of(path: Option<&PathBuf>) -> Result<Option<String>, Failure> {
    let unreadable =
        |path: &PathBuf, error| Failure::new(UNREADABLE, format!("cannot read {}: {error}", path.display()));
    path.map(|path| std::fs::read_to_string(path).map_err(|error| unreadable(path, error))).transpose()
}

fn list() -> Outcome {
    let mut stdout = out::stdout();
    for rule in rules::all().filter(|rule| rule.is_of_objects()) {
        writeln!(stdout, "* {} {} {}:\n  {}", rule.code, rule.name, rule.aka.join(" "), rule.claim)?;
    }
    stdout.flush()?;
    Ok(0)
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Info => Severity::Info,
        Level::Warning => Severity::Warning,
        Level::Error => Severity::Error,
    }
}
