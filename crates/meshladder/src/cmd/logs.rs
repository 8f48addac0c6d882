//! `logs`: what access logs say, and what is behind it.

use std::io::{self, Write};

use meshladder_capture::access_log::{FormatList, LogFormat};
use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::logs::{
    AnswerClass, Event, LineFilter, LogFormats, LogSummary, Stats, of_logs,
};
use meshladder_mesh::Mesh;
use meshladder_output::logs::{
    LogReport, causes, headline, line_json, line_text, shown, to_json, to_markdown,
};
use meshladder_output::tables;

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

use input::LogInput;
use live::Live;

/// Something failed.
const FAILED: u8 = 1;

/// A bundle behind the logs.
struct BundleContext {
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
        let hint =
            "name one with -s, or a running pod; its logs are read, or those that you name besides";
        return Err(Failure::new(USAGE, "--why needs a bundle or a cluster to ask").hint(hint));
    }
    // What is wrong with a flag is told before what is wrong with a log.
    filter::of(&args.filters, None)?;
    let inputs = input::find(global, args, behind.as_ref())?;
    judge(global, args, behind, &inputs, None)
}

/// The logs of running pods, as they are or as they come.
fn on_cluster(global: &Global, args: &Logs) -> Outcome {
    let missing = args
        .what
        .iter()
        .find(|word| !input::is_file(word))
        .map(String::as_str)
        .unwrap_or_default();
    if let Some(file) = args.what.iter().find(|word| input::is_file(word)) {
        let message =
            format!("`{file}` is a file and `{missing}` is not: read one after the other");
        return Err(Failure::new(USAGE, message));
    }
    let (mut live, snapshot) =
        live::find(global, args).map_err(|failure| live::no_such(missing, failure))?;
    if !args.follow {
        let behind = live::behind(live.read(snapshot, args)?);
        let inputs = live.inputs(&behind)?;
        return judge(global, args, Some(behind), &inputs, Some(live));
    }
    let behind = live::behind(snapshot);
    let filter = filter::of(&args.filters, None)?;
    let inputs = live.followed();
    let formats = formats(args, &inputs, Some(&behind))?;
    let (stats, unread) = live.follow(args, &inputs, (&formats, &filter))?;
    let code = tell(global, args, &inputs, Some(behind), stats, Some(live))?;
    Ok(if unread { UNREADABLE } else { code })
}

fn judge(
    global: &Global,
    args: &Logs,
    behind: Option<BundleContext>,
    inputs: &[LogInput],
    live: Option<Live>,
) -> Outcome {
    let filter = filter::of(
        &args.filters,
        behind
            .as_ref()
            .and_then(|behind| behind.snapshot.taken_at()),
    )?;
    let formats = formats(args, inputs, behind.as_ref())?;
    if args.lines || args.malformed {
        return print_lines(args, inputs, behind.as_ref(), &formats, &filter);
    }
    let threads = args
        .threads
        .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
        .unwrap_or(1);
    let (stats, unread) =
        pipeline::count(inputs, behind.as_ref(), (&formats, &filter), threads.max(1))?;
    let code = tell(global, args, inputs, behind, stats, live)?;
    Ok(if unread { UNREADABLE } else { code })
}

fn behind(global: &Global) -> Result<Option<BundleContext>, Failure> {
    if global.source.is_empty() {
        return Ok(None);
    }
    let snapshot = source::named(global, None, USAGE)?;
    let mesh = source::mesh(&snapshot);
    Ok(Some(BundleContext { snapshot, mesh }))
}

/// Those on the command line, then what the proxy that wrote a log says, then what others and the
/// mesh say.
fn formats(
    args: &Logs,
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
) -> Result<LogFormats, Failure> {
    let given = args.format.iter().map(|text| LogFormat::compile(text));
    let given = given
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| Failure::new(USAGE, format!("--format: {why}")))?;
    let Some(behind) = behind else {
        return Ok(LogFormats::same(FormatList::new(given)));
    };
    let writers = input::writers(inputs, behind);
    let writers: Vec<_> = writers
        .iter()
        .map(|one| one.as_ref().map(|(ns, pod)| (ns.as_str(), pod.as_str())))
        .collect();
    let (formats, problems) = of_logs(&behind.snapshot, &behind.mesh, &given, &writers);
    for problem in &problems {
        out::warn(problem);
    }
    Ok(formats)
}

fn print_lines(
    args: &Logs,
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    formats: &LogFormats,
    filter: &LineFilter,
) -> Outcome {
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
fn print_event(
    out: &mut impl Write,
    args: &Logs,
    lines: bool,
    inputs: &[LogInput],
    event: &Event<'_>,
) -> io::Result<()> {
    match *event {
        Event::Line {
            source,
            number,
            record,
            judgement,
        } if lines && !args.malformed => {
            let name = inputs[source].name();
            match args.output {
                LogsOutput::Json => writeln!(out, "{}", line_json(name, number, record, judgement)),
                _ => writeln!(out, "{}", line_text(name, number, record, judgement)),
            }
        }
        Event::Malformed {
            source,
            number,
            text,
        } if args.malformed => {
            writeln!(out, "{}:{number}: {}", inputs[source].name(), shown(text))
        }
        _ => Ok(()),
    }
}

/// Prints the summary. To ask `why` of a cluster, what each question meets is read first.
fn tell(
    global: &Global,
    args: &Logs,
    inputs: &[LogInput],
    behind: Option<BundleContext>,
    stats: Stats,
    live: Option<Live>,
) -> Outcome {
    let summary = stats.summary();
    let behind = match (live, behind) {
        (Some(live), Some(found)) if args.why => {
            let calls = why::calls(&summary, inputs, &found, args.top);
            Some(live.along(found, &calls)?)
        }
        (_, behind) => behind,
    };
    let behind = behind.as_ref();
    let sources: Vec<String> = inputs.iter().map(|input| input.name().to_owned()).collect();
    let commands = why::commands(&summary, inputs, behind, global);
    let explained = match behind {
        Some(behind) if args.why => why::ask(&summary, inputs, behind, args.top),
        _ => Vec::new(),
    };
    let told = LogReport {
        summary: &summary,
        sources: &sources,
        commands: &commands,
        explained: &explained,
        most: args.top,
    };
    let mut out = out::stdout();
    match args.output {
        LogsOutput::Json => writeln!(out, "{}", to_json(&told))?,
        LogsOutput::Markdown => write!(out, "{}", to_markdown(&told))?,
        LogsOutput::Text => text(&mut out, &told, args)?,
    }
    out.flush()?;
    note_nothing(&summary, args);
    Ok(if summary.stats.of(AnswerClass::Failed) > 0 {
        FAILED
    } else {
        0
    })
}

fn text(out: &mut impl Write, told: &LogReport<'_>, args: &Logs) -> Result<(), Failure> {
    writeln!(out, "{}", headline(told.summary, told.sources.len()))?;
    let table = tables::logs::table(told.summary, args.top);
    if !table.is_empty() {
        write!(out, "\n{table}")?;
    }
    write!(out, "{}", causes(told, args.verbose))?;
    Ok(())
}

/// Where nothing was recognised, a format may be missing.
fn note_nothing(summary: &LogSummary, args: &Logs) {
    let stats = &summary.stats;
    if stats.requests + stats.connections + stats.left_out == 0 && stats.other + stats.malformed > 0
    {
        let known = if args.format.is_empty() {
            "; if the lines have a format of their own, give it with --format"
        } else {
            ""
        };
        out::note(&format!(
            "no line of {} is an access log's{known}",
            stats.other + stats.malformed
        ));
    }
}
