//! What the exporter looks at, round after round.

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Need, Snapshot};
use meshladder_collect::live::{Purpose, is_named};

use super::{access, choice, connect, logs, read, unless_interrupted, wish};
use crate::args::Global;
use crate::args::cluster::Reading;
use crate::exit::{Failure, UNREADABLE};

/// One round: a connection of its own, so that nothing of a failed one is left.
pub(in crate::cmd) fn monitor(global: &Global, reading: &Reading) -> Result<Snapshot, Failure> {
    let mut session = connect(global)?;
    let logs = logs(reading);
    let snapshot = session.objects(&wish(global, Purpose::Monitor, Some(logs)))?;
    let snapshot = unless_interrupted(&session, snapshot)?;
    // Without pods there is nobody to tell anything of, and the last round knew more.
    let pods = Need::Objects(Kind::Pod);
    if let (false, Some(why)) = (
        snapshot.ids().any(|id| Need::of_path(id.split().1) == pods),
        snapshot.coverage(&pods).why(),
    ) {
        return Err(Failure::new(
            UNREADABLE,
            format!("pods could not be read: {why}"),
        ));
    }
    let chosen = choice(global, &snapshot, reading.proxies.as_ref())?;
    let snapshot = read(&mut session, snapshot, chosen, Some(logs), false)?;
    unless_interrupted(&session, snapshot)
}

/// Whether a cluster is named at all. That it does not answer just now may change.
pub(in crate::cmd) fn named(global: &Global) -> Result<(), Failure> {
    Ok(is_named(&access(global, false))?)
}
