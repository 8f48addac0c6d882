//! `logs`: what access logs say, and what is behind it.

use std::io::{self, Write};

use meshladder_core::access_log::{Format, Formats};
use meshladder_core::logs::{Class, Event, Filter, Stats, Summary, of_mesh};
use meshladder_core::mesh::Mesh;
use meshladder_core::render::logs::{Told, causes, headline, line_json, line_text, shown, to_json, to_markdown};
use meshladder_core::snapshot::Snapshot;
use meshladder_core::tables;

use super::source;
use crate::args::Global;
use crate::args::logs::{Logs, LogsOutput};
use crate::exit::{Failure, Outcome, UNREADABLE, USAGE};
use crate::out;

mod filter;
mod input;
mod live;
mod pipeline;
mod why;

use input::Input;

/// Something failed.
const FAILED: u8 = 1;

/// A bundle behind the logs.
struct Behind {
    snapshot: Snapshot,
    mesh: Mesh,
}

pub(super) fn run(global: &Global, args: &Logs) -> Outcome {
    if global.source.is_empty() && args.what.iter().any(|word| !input::is_file(word)) {
        return on_cluster(global, args);
    }
    if args.follow {
        let hint = "`tail -f FILE | meshladder logs - --lines` follows a file";
        return Err(Failure::new(USAGE, "--follow reads a running pod's log").hint(hint));
    }
    let behind = behind(global)?;
    if args.why && behind.is_none() {
        let hint = "name one with -s; its logs are read, or those that you name besides";
        return Err(Failure::new(USAGE, "--why needs a bundle to ask").hint(hint));
    }
    // What is wrong with a flag is told before what is wrong with a log.
    filter::of(&args.filters, None)?;
    judge(args, behind.as_ref(), &input::find(global, args, behind.as_ref())?)
}

/// The logs of running pods, as they are or as they come.
fn on_cluster(global: &Global, args: &Logs) -> Outcome {
    let missing = args.what.iter().find(|word| !input::is_file(word)).map(String::as_str).unwrap_or_default();
    if let Some(file) = args.what.iter().find(|word| input::is_file(word)) {
        let message = format!("`{file}` is a file and `{missing}` is not: read one after the other");
        return Err(Failure::new(USAGE, message));
    }
    if args.why {
        let hint = "`meshladder snapshot FILE` makes one; then `meshladder logs -s FILE --why`";
        return Err(Failure::new(USAGE, "--why needs a bundle to ask").hint(hint));
    }
    let (mut live, snapshot) = live::find(global, args).map_err(|failure| live::no_such(missing, failure))?;
    if !args.follow {
        let behind = live::behind(live.read(snapshot, args)?);
        return judge(args, Some(&behind), &live.inputs(&behind)?);
    }
    let behind = live::behind(snapshot);
    let filter = filter::of(&args.filters, None)?;
    let formats = formats(args, Some(&behind))?;
    let (inputs, stats, unread) = live.follow(args, (&formats, &filter))?;
    let code = tell(args, &inputs, Some(&behind), stats)?;
    Ok(if unread { UNREADABLE } else { code })
}

fn judge(args: &Logs, behind: Option<&Behind>, inputs: &[Input]) -> Outcome {
    let filter = filter::of(&args.filters, behind.and_then(|behind| behind.snapshot.taken_at()))?;
    let formats = formats(args, behind)?;
    if args.lines || args.malformed {
        return print_lines(args, inputs, behind, &formats, &filter);
    }
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let (stats, unread) = pipeline::count(inputs, behind, (&formats, &filter), threads.max(1))?;
    let code = tell(args, inputs, behind, stats)?;
    Ok(if unread { UNREADABLE } else { code })
}

fn behind(global: &Global) -> Result<Option<Behind>, Failure> {
    if global.source.is_empty() {
        return Ok(None);
    }
    let snapshot = source::named(global, None, USAGE)?;
    let mesh = Mesh::build(&snapshot);
    Ok(Some(Behind { snapshot, mesh }))
}

/// Those on the command line before those of the source.
fn formats(args: &Logs, behind: Option<&Behind>) -> Result<Formats, Failure> {
    let given = args.format.iter().map(|text| Format::compile(text));
    let mut given =
        given.collect::<Result<Vec<_>, _>>().map_err(|why| Failure::new(USAGE, format!("--format: {why}")))?;
    if let Some(behind) = behind {
        let (found, problems) = of_mesh(&behind.mesh);
        for problem in &problems {
            out::warn(problem);
        }
        given.extend(found);
    }
    Ok(Formats::new(given))
}

fn print_lines(args: &Logs, inputs: &[Input], behind: Option<&Behind>, formats: &Formats, filter: &Filter) -> Outcome {
    let mut out = out::stdout();
    let mut failed = None;
    let unread = pipeline::each(inputs, behind, (formats, filter), |event| {
        let written = print_event(&mut out, args, args.lines, inputs, &event);
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
        failed.is_none()
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush()?;
    Ok(if unread { UNREADABLE } else { 0 })
}

/// Prints one line, if it is wanted.
fn print_event(out: &mut impl Write, args: &Logs, lines: bool, inputs: &[Input], event: &Event<'_>) -> io::Result<()> {
    match *event {
        Event::Line { source, number, record, judgement } if lines && !args.malformed => {
            let name = inputs[source].name();
            match args.output {
                LogsOutput::Json => writeln!(out, "{}", line_json(name, number, record, judgement)),
                _ => writeln!(out, "{}", line_text(name, number, record, judgement)),
            }
        }
        Event::Malformed { source, number, text } if args.malformed => {
            writeln!(out, "{}:{number}: {}", inputs[source].name(), shown(text))
        }
        _ => Ok(()),
    }
}

/// Prints the summary.
fn tell(args: &Logs, inputs: &[Input], behind: Option<&Behind>, stats: Stats) -> Outcome {
    let summary = stats.summary();
    let sources: Vec<String> = inputs.iter().map(|input| input.name().to_owned()).collect();
    let commands = why::commands(&summary, inputs, behind);
    let explained = match behind {
        Some(behind) if args.why => why::ask(&summary, inputs, behind, args.top),
        _ => Vec::new(),
    };
    let told =
        Told { summary: &summary, sources: &sources, commands: &commands, explained: &explained, most: args.top };
    let mut out = out::stdout();
    match args.output {
        LogsOutput::Json => writeln!(out, "{}", to_json(&told))?,
        LogsOutput::Markdown => write!(out, "{}", to_markdown(&told))?,
        LogsOutput::Text => text(&mut out, &told, args)?,
    }
    out.flush()?;
    note_nothing(&summary, args);
    Ok(if summary.stats.of(Class::Failed) > 0 { FAILED } else { 0 })
}

fn text(out: &mut impl Write, told: &Told<'_>, args: &Logs) -> Result<(), Failure> {
    writeln!(out, "{}", headline(told.summary, told.sources.len()))?;
    let table = tables::logs::table(told.summary, args.top);
    if !table.is_empty() {
        write!(out, "\n{table}")?;
    }
    write!(out, "{}", causes(told, args.verbose))?;
    Ok(())
}

/// Where nothing was recognised, a format may be missing.
fn note_nothing(summary: &Summary, args: &Logs) {
    let stats = &summary.stats;
    if stats.requests + stats.connections + stats.left_out == 0 && stats.other + stats.malformed > 0 {
        let known = if args.format.is_empty() {
            "; if the lines have a format of their own, give it with --format"
        } else {
            ""
        };
        out::note(&format!("no line of {} is an access log's{known}", stats.other + stats.malformed));
    }
}
