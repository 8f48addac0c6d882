//! Whether a proxy has what istiod would send it, so that what it lacks was never sent.

use crate::fleet::Proxy;
use crate::rules::Facts;
use meshladder_capture::istiod::syncz::SyncStatus;

/// Whether it is connected, has acknowledged all it was sent, and refused nothing. Without istiod's
/// word it is not known, and the answer is no.
pub(super) fn in_sync(facts: &Facts<'_>, proxy: &Proxy<'_>) -> bool {
    let id = &proxy.docs.id;
    let disconnected = proxy
        .stat("control_plane.connected_state")
        .is_some_and(|(value, _)| value != 1);
    let streams: Vec<_> = facts.fleet.streams_of(&id.namespace, &id.pod).collect();
    let mut watches = streams.iter().flat_map(|stream| stream.types.values());
    let behind = watches.any(|watch| matches!(watch.sync, SyncStatus::Stale | SyncStatus::Error));
    !streams.is_empty() && !disconnected && !behind && proxy.summary().rejected.is_empty()
}
