//! `snapshot`: a cluster read once, into a bundle.

use std::time::Duration;

use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_collect::bundle;
use meshladder_collect::live::{Choice, Logs, Purpose, Session};

use super::bundle::megabytes;
use super::live;
use crate::args::Global;
use crate::args::snapshot::{LogChoice, Snapshot as Args};
use crate::exit::{Failure, INTERRUPTED, Outcome, USAGE};
use crate::{out, progress};

mod watch;

/// What a proxy's documents take, as a rule of thumb: a dump of a mesh of some hundred services,
/// and its statistics.
const PROXY: u64 = 3_000_000;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    if !global.source.is_empty() {
        let hint = "`meshladder bundle pack FILE -s PATH` makes a bundle of a source";
        return Err(Failure::new(USAGE, "snapshot reads a cluster, not what -s names").hint(hint));
    }
    bundle::check_name(&args.to)?;
    if let Some(text) = &args.watch_for {
        return watch::run(global, args, text);
    }
    let mut session = live::connect_only(global)?;
    let (snapshot, choice) = objects(&mut session, global, args, args.reading.since)?;
    if let Some(choice) = &choice {
        let count = session.count(choice);
        let size = megabytes(count as u64 * PROXY);
        out::note(&format!(
            "{count} proxies to read, perhaps {size} (--proxies says which)"
        ));
        live::connect_progress(&session);
    }
    if args.dry_run {
        return Ok(0);
    }
    let snapshot = live::read(
        &mut session,
        snapshot,
        choice,
        logs(args, args.reading.since),
        false,
    )?;
    write(&snapshot, args)?;
    Ok(if session.is_interrupted() {
        INTERRUPTED
    } else {
        0
    })
}

/// The objects, and which proxies to read.
fn objects(
    session: &mut Session,
    global: &Global,
    args: &Args,
    since: Option<Duration>,
) -> Result<(Snapshot, Option<Choice>), Failure> {
    let snapshot = session.objects(&live::wish(global, Purpose::Snapshot, logs(args, since)))?;
    let choice = live::choice(global, &snapshot, args.reading.proxies.as_ref())?;
    Ok((snapshot, choice))
}

fn logs(args: &Args, since: Option<Duration>) -> Option<Logs> {
    let all = args.logs == LogChoice::All;
    (args.logs != LogChoice::None).then(|| Logs {
        all,
        since,
        ..live::logs(&args.reading)
    })
}

fn write(snapshot: &Snapshot, args: &Args) -> Result<(), Failure> {
    progress::start(format!("writing {}", args.to.display()));
    let summary = bundle::write(snapshot, &args.to)?;
    tell(snapshot);
    let (size, written) = (megabytes(summary.bytes), megabytes(summary.written));
    let proxies = snapshot.proxies_with(Shape::ConfigDump).count();
    let (to, documents) = (args.to.display(), summary.documents);
    out::note(&format!(
        "{to}: {documents} documents of {proxies} proxies, {size}, written as {written}"
    ));
    Ok(())
}

/// What could not be read, once for each reason.
fn tell(snapshot: &Snapshot) {
    for (_, need, coverage) in snapshot.coverages() {
        // A pod's own reason is in the bundle; its folder's says how many there are.
        let is_detail = need.path().matches('/').count() > 1;
        if !is_detail && coverage.why().is_some() {
            out::warn(&coverage.lack(need));
        }
    }
}
