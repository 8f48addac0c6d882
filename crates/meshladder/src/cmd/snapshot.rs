//! `snapshot`: a cluster read once, into a bundle.

use meshladder_collect::bundle;
use meshladder_collect::live::{Logs, Purpose};
use meshladder_core::snapshot::{Coverage, Shape, Snapshot};

use super::bundle::megabytes;
use super::live;
use crate::args::Global;
use crate::args::snapshot::{Snapshot as Args, WhichLogs};
use crate::exit::{Failure, INTERRUPTED, Outcome, USAGE};
use crate::{out, progress};

/// What a proxy's documents take, as a rule of thumb: a dump of a mesh of some hundred services, and its statistics.
const PROXY: u64 = 3_000_000;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    if !global.source.is_empty() {
        let hint = "`meshladder bundle pack FILE -s PATH` makes a bundle of a source";
        return Err(Failure::new(USAGE, "snapshot reads a cluster, not what -s names").hint(hint));
    }
    if global.cluster.context.len() > 1 {
        return Err(Failure::new(USAGE, "a bundle holds one cluster: write one for each --context"));
    }
    bundle::check_name(&args.to)?;
    let mut session = live::connect(global)?;
    let logs =
        (args.logs != WhichLogs::None).then(|| Logs { all: args.logs == WhichLogs::All, ..live::logs(&args.reading) });
    let snapshot = session.objects(&live::wish(global, Purpose::Snapshot, logs))?;
    let choice = live::choice(global, &snapshot, args.reading.proxies.as_ref())?;
    if let Some(choice) = &choice {
        let count = session.count(choice);
        let size = megabytes(count as u64 * PROXY);
        out::note(&format!("{count} proxies to read, perhaps {size} (--proxies says which)"));
        live::connect_progress(&session);
    }
    if args.dry_run {
        return Ok(0);
    }
    let snapshot = live::read(&mut session, snapshot, choice, logs, false)?;
    progress::start(format!("writing {}", args.to.display()));
    let summary = bundle::write(&snapshot, &args.to)?;
    tell(&snapshot);
    let (size, written) = (megabytes(summary.bytes), megabytes(summary.written));
    let proxies = snapshot.proxies_with(Shape::ConfigDump).count();
    let documents = summary.documents;
    out::note(&format!(
        "{}: {documents} documents of {proxies} proxies, {size}, written as {written}",
        args.to.display()
    ));
    Ok(if session.is_interrupted() { INTERRUPTED } else { 0 })
}

/// What could not be read, once for each reason.
fn tell(snapshot: &Snapshot) {
    for (_, need, coverage) in snapshot.coverages() {
        // A pod's own reason is in the bundle; its folder's says how many there are.
        let is_detail = need.path().matches('/').count() > 1;
        if !is_detail && matches!(coverage, Coverage::Partial(_) | Coverage::Denied(_)) {
            out::warn(&coverage.lack(need));
        }
    }
}
