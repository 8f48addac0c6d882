//! `analyze`: what objects say, on the lines they say it.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::finding::MissingFact;
use meshladder_judge::finding::Severity;
use meshladder_judge::ladder::{self, Analysis, Choice};
use meshladder_judge::report::{Report, by_reason};
use meshladder_judge::rules::{self, Rule};
use meshladder_mesh::{Mesh, MeshOverrides};
use meshladder_output::paint::Paint;
use meshladder_output::report::to_json;
use meshladder_output::{analysis as render, messages};

use super::{ladder::paint, live, source, target};
use crate::args::Global;
use crate::args::analyze::{Analyze, AnalyzeOutput, Level};
use crate::exit::{Failure, ISTIOCTL_USAGE, Outcome, UNREADABLE};
use crate::out;

mod fix;

use fix::Edits;

/// istioctl's code for findings at the threshold.
const FOUND: u8 = 79;
/// istioctl's code for documents it cannot read.
const NOT_PARSED: u8 = 65;
/// A fix that waits for another is made in the next round.
const MOST_ROUNDS: usize = 20;

pub(super) fn run(global: &Global, args: &Analyze) -> Outcome {
    if args.list_analyzers {
        return list();
    }
    if args.remote_contexts.is_some() {
        let why = "--remote-contexts: clusters are not told apart by context";
        return Err(Failure::new(ISTIOCTL_USAGE, why)
            .hint("give the others' objects with --cluster-file NAME=FILE"));
    }
    let analysis = analysis(global, args)?;
    let mesh_config = text_of(args.mesh_config_file.as_ref())?;
    let mesh_networks = text_of(args.mesh_networks_file.as_ref())?;
    let beside = MeshOverrides {
        mesh_config: mesh_config.as_deref(),
        mesh_networks: mesh_networks.as_deref(),
        revision: args.revision.as_deref(),
        clusters: clusters(args, paths(global, args).len()),
    };
    let mut judged = judge(global, args, &analysis, &beside)?;
    if args.fix {
        let mut rounds = 0..MOST_ROUNDS;
        while !judged.edits.is_empty() && rounds.next().is_some() {
            fix::apply(&judged.edits)?;
            judged = judge(global, args, &analysis, &beside)?;
        }
    }
    let AnalyzeRound {
        snapshot,
        mesh,
        report,
        edits,
    } = &judged;
    for problem in snapshot.problems().iter().chain(&mesh.problems) {
        out::warn(&problem.to_string());
    }
    tell_skipped(snapshot, mesh, &analysis, args.verbose);
    if args.fix || args.diff {
        edits.tell_left();
    }
    if args.diff {
        out::text(&fix::diff(edits))?;
    } else {
        print(args, report, edits, paint(args.verbose))?;
    }
    let has_problems = !mesh.problems.is_empty() || !snapshot.problems().is_empty();
    let code = match () {
        () if has_problems && !args.ignore_unknown => NOT_PARSED,
        () if report.has(severity(args.failure_threshold)) => FOUND,
        () => 0,
    };
    // Taking down the trees of thousands of objects takes longer than many a rule, and the process
    // ends here.
    std::mem::forget(judged);
    Ok(code)
}

/// What one reading of the sources comes to.
struct AnalyzeRound {
    snapshot: Snapshot,
    mesh: Mesh,
    report: Report,
    edits: Edits,
}

fn judge(
    global: &Global,
    args: &Analyze,
    analysis: &Analysis,
    beside: &MeshOverrides<'_>,
) -> Result<AnalyzeRound, Failure> {
    let snapshot = read(global, args)?;
    let mesh = Mesh::of_files_on(analysis.threads, &snapshot, beside);
    // Files alone need not name the namespaces they are for.
    let has_namespaces = mesh.objects.has_any(Kind::Namespace);
    if let Some(namespace) = analysis.namespace.as_deref().filter(|_| has_namespaces) {
        target::namespace(namespace, &snapshot, &mesh)?;
    }
    let report = ladder::analyze(&snapshot, &mesh, analysis);
    let wants_edits = args.fix || args.diff || args.output == Some(AnalyzeOutput::Sarif);
    let edits = if wants_edits {
        fix::plan(&report, &snapshot, &mesh)
    } else {
        Edits::default()
    };
    Ok(AnalyzeRound {
        snapshot,
        mesh,
        report,
        edits,
    })
}

fn analysis(global: &Global, args: &Analyze) -> Result<Analysis, Failure> {
    let choice = Choice::new(&args.select, &args.ignore).map_err(|why| {
        Failure::new(ISTIOCTL_USAGE, why).hint("`meshladder analyze --list-analyzers` lists them")
    })?;
    for (code, _) in args
        .suppress
        .iter()
        .filter(|(code, _)| !ladder::is_known(code))
    {
        out::warn(&format!("--suppress: there is no code `{code}`"));
    }
    Ok(Analysis {
        namespace: live::namespace(global).map(str::to_owned),
        suppress: args.suppress.clone(),
        least: severity(args.output_threshold),
        choice,
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    })
}

fn print(args: &Analyze, report: &Report, edits: &Edits, paint: Paint) -> std::io::Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut stdout = out::stdout();
    match args.output.unwrap_or(if is_terminal {
        AnalyzeOutput::Text
    } else {
        AnalyzeOutput::Log
    }) {
        AnalyzeOutput::Text => write!(stdout, "{}", render::to_frames(report, paint))?,
        AnalyzeOutput::Log => write!(stdout, "{}", messages::to_log(report, paint))?,
        AnalyzeOutput::Json => writeln!(stdout, "{}", to_json(report))?,
        AnalyzeOutput::IstioJson => writeln!(stdout, "{}", messages::to_json(report))?,
        AnalyzeOutput::Yaml => write!(stdout, "{}", messages::to_yaml(report))?,
        AnalyzeOutput::Sarif => {
            writeln!(stdout, "{}", render::to_sarif(report, &edits.replacements))?;
        }
        AnalyzeOutput::Junit => write!(stdout, "{}", render::to_junit(report))?,
        AnalyzeOutput::Github => write!(stdout, "{}", render::to_github(report))?,
        AnalyzeOutput::Markdown => write!(stdout, "{}", render::to_markdown(report))?,
    }
    stdout.flush()?;
    if report.findings.is_empty() && std::io::stderr().is_terminal() {
        out::note("no validation issues found");
    }
    Ok(())
}

/// Which rules were not run, and for want of what.
fn tell_skipped(snapshot: &Snapshot, mesh: &Mesh, analysis: &Analysis, verbose: bool) {
    let skipped = ladder::skipped(snapshot, mesh, analysis);
    let mut by_need: BTreeMap<String, (MissingFact, Vec<&Rule>)> = BTreeMap::new();
    for (rule, need, coverage) in &skipped {
        let fact = MissingFact::Unread(need.clone(), coverage.clone());
        let (_, rules) = by_need
            .entry(fact.to_string())
            .or_insert_with(|| (fact, Vec::new()));
        rules.push(rule);
    }
    if verbose {
        let ran = ladder::chosen(analysis)
            .filter(|rule| !skipped.iter().any(|(other, ..)| other.code == rule.code));
        out::note(&format!("ran: {}", codes(ran)));
        for (lack, (_, rules)) in &by_need {
            out::note(&format!(
                "not run without {lack}: {}",
                codes(rules.iter().copied())
            ));
        }
    } else if !by_need.is_empty() {
        let facts: Vec<MissingFact> = by_need.into_values().map(|(fact, _)| fact).collect();
        let lacks = by_reason(&facts);
        let rules = if skipped.len() == 1 {
            "1 rule was".to_owned()
        } else {
            format!("{} rules were", skipped.len())
        };
        out::note(&format!(
            "{rules} not run without {}; -v names them",
            lacks.join("; ")
        ));
    }
}

fn codes<'r>(rules: impl Iterator<Item = &'r Rule>) -> String {
    rules.map(|rule| rule.code).collect::<Vec<_>>().join(" ")
}

fn read(global: &Global, args: &Analyze) -> Result<Snapshot, Failure> {
    let paths = paths(global, args);
    if paths.is_empty() {
        return live::objects(global);
    }
    let files = source::read_quietly(&paths, global)?;
    let is_on_top = args.use_kube == Some(true) && global.source.is_empty();
    if is_on_top {
        live::objects_under(global, files)
    } else {
        Ok(files)
    }
}

/// What is judged, then the files of other clusters.
fn paths<'a>(global: &'a Global, args: &'a Analyze) -> Vec<&'a PathBuf> {
    let others = args.cluster_file.iter().map(|(_, file)| file);
    args.paths
        .iter()
        .chain(&global.source)
        .chain(others)
        .collect()
}

/// The cluster of each source that is another cluster's. A source has the number of its path; an
/// only one has none.
fn clusters(args: &Analyze, paths: usize) -> BTreeMap<String, String> {
    let first = paths - args.cluster_file.len();
    let numbered = args.cluster_file.iter().enumerate();
    let source = |at: usize| {
        if paths > 1 {
            (first + at + 1).to_string()
        } else {
            String::new()
        }
    };
    numbered
        .map(|(at, (name, _))| (source(at), name.clone()))
        .collect()
}

fn text_of(path: Option<&PathBuf>) -> Result<Option<String>, Failure> {
    let unreadable = |path: &PathBuf, error| {
        Failure::new(
            UNREADABLE,
            format!("cannot read {}: {error}", path.display()),
        )
    };
    path.map(|path| std::fs::read_to_string(path).map_err(|error| unreadable(path, error)))
        .transpose()
}

fn list() -> Outcome {
    let mut stdout = out::stdout();
    for rule in rules::all().filter(|rule| rule.is_of_objects()) {
        writeln!(
            stdout,
            "* {} {} {}:\n  {}",
            rule.code,
            rule.name,
            rule.aka.join(" "),
            rule.claim
        )?;
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
