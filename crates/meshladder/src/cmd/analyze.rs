//! `analyze`: what objects in files say, one finding a line.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use meshladder_core::finding::Severity;
use meshladder_core::ladder::{self, Analysis};
use meshladder_core::mesh::Mesh;
use meshladder_core::render::{messages, report::to_json};
use meshladder_core::rules;
use meshladder_core::snapshot::Snapshot;

use super::{ladder::paint, live, source};
use crate::args::Global;
use crate::args::analyze::{Analyze, AnalyzeOutput, Level};
use crate::exit::{Failure, Outcome, UNREADABLE};
use crate::out;

/// istioctl's code for findings at the threshold.
const FOUND: u8 = 79;
/// istioctl's code for documents it cannot read.
const NOT_PARSED: u8 = 65;

pub(super) fn run(global: &Global, args: &Analyze) -> Outcome {
    if args.list_analyzers {
        return list();
    }
    let snapshot = read(global, args)?;
    let config = args.mesh_config_file.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::new(UNREADABLE, format!("cannot read {}: {error}", path.display())))
    });
    let config = config.transpose()?;
    let is_files = snapshot.sources().all(|(_, meta)| meta.is_none_or(|meta| meta.form == "files"));
    let mesh = if is_files { Mesh::of_files(&snapshot, config.as_deref()) } else { Mesh::build(&snapshot) };
    for problem in &mesh.problems {
        out::warn(&problem.to_string());
    }
    let analysis = Analysis {
        namespace: live::namespace(global).map(str::to_owned),
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

fn read(global: &Global, args: &Analyze) -> Result<Snapshot, Failure> {
    let paths: Vec<&PathBuf> = args.paths.iter().chain(&global.source).collect();
    if paths.is_empty() {
        return live::objects(global);
    }
    let files = source::read(&paths, global)?;
    if args.use_kube { live::objects_under(global, files) } else { Ok(files) }
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
