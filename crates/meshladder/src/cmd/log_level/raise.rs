//! Levels held up for a while.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, sync_channel};

use meshladder_capture::envoy::logging::LevelRequest;
use meshladder_collect::live::{End, Ending, Raise, RaiseEvent, StopReason};

use super::pods::{self, PodSelection};
use super::{MANY, told, unread_code};
use crate::args::Global;
use crate::args::log_level::LogLevel;
use crate::cmd::live;
use crate::exit::{Failure, INTERRUPTED, Outcome, USAGE};
use crate::{out, progress};

/// Something is left, or it ended before its time.
const FAILED: u8 = 1;

/// So many lines may wait to be printed.
const WAITING: usize = 1 << 14;

pub(super) fn run(global: &Global, args: &LogLevel, wanted: &LevelRequest) -> Outcome {
    if args.targets.is_empty() && !args.yes {
        let message = "--level without a target is for every proxy of the namespace";
        return Err(Failure::new(USAGE, message)
            .hint("name a pod, such as cart-1.shop; --yes does it for all"));
    }
    let session = live::connect_only(global)?;
    let found = pods::find(session, global, &args.targets, false)?;
    ask_first(&found, args, wanted)?;
    let raise = Raise {
        pods: found.pods.clone(),
        wanted: wanted.clone(),
        time: args.time,
        max_rate: args.max_rate,
        port: args.proxy_admin_port,
        all_lines: args.verbose,
    };
    progress::stop();
    let (sender, receiver) = sync_channel(WAITING);
    let time = args.time;
    let printer = std::thread::spawn(move || print(&receiver, time));
    let endings = found.session.raise(&raise, sender);
    // A printer that panicked has told so already.
    let _ = printer.join();
    for ending in &endings {
        told::ending(global, args, ending);
    }
    Ok(code(&endings, found.session.is_interrupted()))
}

/// What is dear needs a yes; what is more than needed gets a word.
fn ask_first(found: &PodSelection, args: &LogLevel, wanted: &LevelRequest) -> Result<(), Failure> {
    let count = found.pods.len();
    let names: Vec<String> = found.pods.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    if !args.yes && (wanted.is_flood() || count > MANY) {
        let what = if wanted.is_flood() {
            "all components of"
        } else {
            "the levels of"
        };
        let pods = if count == 1 {
            "1 pod".to_owned()
        } else {
            format!("{count} pods")
        };
        let message = format!("{what} {pods} would be set: {names}");
        let hint = "one pod and the components in question are most often enough; --yes does it all the same";
        return Err(Failure::new(USAGE, message).hint(hint));
    }
    if wanted.is_flood() {
        out::warn("all components at debug log several lines for each request and connection");
    }
    if let Some(first) = found.pods.first().filter(|_| count > 1) {
        out::note(&format!(
            "{count} pods are set; one is often enough: meshladder log-level {first} …"
        ));
    }
    Ok(())
}

/// Prints what happens until nobody tells any more, or nobody reads.
fn print(happenings: &Receiver<RaiseEvent>, time: std::time::Duration) -> io::Result<()> {
    let mut out = out::stdout();
    for happening in happenings {
        match happening {
            RaiseEvent::Line(pod, line) => {
                write!(
                    out,
                    "{pod}: {line}{}",
                    if line.ends_with('\n') { "" } else { "\n" }
                )?;
                out.flush()?;
            }
            RaiseEvent::Set(pod, change, cost) => out::note(&told::set(&pod, &change, &cost, time)),
        }
    }
    out.flush()
}

fn code(endings: &[Ending], is_interrupted: bool) -> u8 {
    let failed = |ending: &&Ending| {
        ending.end != End::Gone
            && matches!(
                ending.why,
                Some(StopReason::TooMuch(_) | StopReason::Failed(_))
            )
    };
    if endings
        .iter()
        .any(|ending| matches!(ending.end, End::Left { .. } | End::Changed(_)))
    {
        return FAILED;
    }
    let untouched = |ending: &Ending| match &ending.end {
        End::Untouched(why) => Some(unread_code(why)),
        _ => None,
    };
    match endings.iter().find(failed) {
        _ if is_interrupted => INTERRUPTED,
        Some(_) => FAILED,
        None => endings.iter().find_map(untouched).unwrap_or(0),
    }
}
