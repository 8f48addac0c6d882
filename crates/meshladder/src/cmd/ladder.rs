//! `check` and `why`: the whole ladder, one root cause first.

use std::io::Write;

use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::finding::Severity;
use meshladder_judge::ladder::{self, Question, Scope};
use meshladder_judge::report::{Report, Verdict};
use meshladder_judge::rules::Symptom;
use meshladder_mesh::{Clusters, Mesh};
use meshladder_output::paint::Paint;
use meshladder_output::report::{to_html, to_json, to_markdown, to_runbook, to_text};

use super::{clusters, live, request, runbook, source, target};
use crate::args::Global;
use crate::args::ladder::{Check, FailOn, ReportFlags, ReportOutput, Why};
use crate::exit::{Failure, Outcome, UNDECIDED, USAGE};
use crate::out;

pub(super) fn check(global: &Global, args: &Check) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::check(global, args)?
    } else {
        source::snapshot(global)?
    };
    if let Some(clusters) = Clusters::of(&snapshot) {
        return clusters::check(global, args, &snapshot, &clusters);
    }
    let mesh = source::mesh(&snapshot);
    let namespace = live::namespace(global);
    let scope = match (&args.target, namespace) {
        (Some(text), _) => target::scope(text, namespace, &snapshot, &mesh)?,
        (None, Some(namespace)) => {
            target::namespace(namespace, &snapshot, &mesh)?;
            Scope::Namespace(namespace.to_owned())
        }
        (None, None) => Scope::Mesh,
    };
    tell(&snapshot, &mesh, scope, None, &args.report)
}

pub(super) fn why(global: &Global, args: &Why) -> Outcome {
    let seen = args
        .seen
        .as_deref()
        .map(Symptom::parse)
        .transpose()
        .map_err(|why| Failure::new(USAGE, why))?;
    let snapshot = source::for_request(global, &args.request, &args.reading, false)?;
    if let Some(clusters) = Clusters::of(&snapshot) {
        return clusters::why(global, args, seen, &snapshot, &clusters);
    }
    let mesh = source::mesh(&snapshot);
    let call = request::call(&args.request, global.namespace.as_deref(), &snapshot, &mesh)?;
    tell(
        &snapshot,
        &mesh,
        Scope::Request(Box::new(call)),
        seen,
        &args.report,
    )
}

fn tell(
    snapshot: &Snapshot,
    mesh: &Mesh,
    scope: Scope,
    seen: Option<Symptom>,
    flags: &ReportFlags,
) -> Outcome {
    draw(&climb(snapshot, mesh, scope, seen), flags)
}

/// Draws a report as the flags say.
pub(super) fn draw(report: &Report, flags: &ReportFlags) -> Outcome {
    let mut out = out::stdout();
    match flags.output {
        ReportOutput::Json => writeln!(out, "{}", to_json(report))?,
        ReportOutput::Markdown => write!(out, "{}", to_markdown(report))?,
        ReportOutput::Runbook => write!(out, "{}", to_runbook(report, &runbook::again()))?,
        ReportOutput::Html => write!(out, "{}", to_html(report))?,
        ReportOutput::Text => write!(out, "{}", to_text(report, paint(flags.verbose)))?,
    }
    out.flush()?;
    Ok(exit_code(report, flags.fail_on))
}

/// Climbs with as many threads as there are cores.
pub(super) fn climb(
    snapshot: &Snapshot,
    mesh: &Mesh,
    scope: Scope,
    seen: Option<Symptom>,
) -> Report {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    ladder::climb(
        snapshot,
        mesh,
        &Question {
            scope,
            seen,
            threads,
        },
    )
}

pub(super) fn paint(verbose: bool) -> Paint {
    Paint {
        colour: out::has_colour(),
        verbose,
    }
}

fn exit_code(report: &Report, fail_on: FailOn) -> u8 {
    let severity = match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Info => Severity::Info,
    };
    match report.verdict {
        Verdict::Undecided => UNDECIDED,
        _ => u8::from(report.has(severity)),
    }
}
