//! What the exporter looks at, round after round.

use meshladder_collect::CollectError;
use meshladder_collect::live::Purpose;
use meshladder_core::snapshot::Snapshot;

use super::{choice, connect, connect_as, logs, read, unless_interrupted, wish};
use crate::args::Global;
use crate::args::cluster::Reading;
use crate::exit::Failure;

/// One round: a connection of its own, so that nothing of a failed one is left.
pub(in crate::cmd) fn monitor(global: &Global, reading: &Reading) -> Result<Snapshot, Failure> {
    let mut session = connect(global)?;
    let logs = logs(reading);
    let snapshot = session.objects(&wish(global, Purpose::Monitor, Some(logs)))?;
    let chosen = choice(global, &snapshot, reading.proxies.as_ref())?;
    let snapshot = read(&mut session, snapshot, chosen, Some(logs), false)?;
    unless_interrupted(&session, snapshot)
}

/// Whether a cluster is named at all. That it does not answer just now may change.
pub(in crate::cmd) fn named(global: &Global) -> Result<(), Failure> {
    match connect_as(global, false) {
        Err(error @ (CollectError::NoCluster | CollectError::Kubeconfig { .. })) => Err(error.into()),
        _ => Ok(()),
    }
}
