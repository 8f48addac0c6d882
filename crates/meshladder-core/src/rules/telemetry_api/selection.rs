//! Which pods a Telemetry is for.

use crate::doc::tree::Node;
use crate::mesh::{Mesh, Stored};
use crate::rules::analyzed::selected;

/// The labels it selects; none for a whole namespace.
pub(super) fn labels(telemetry: &Stored) -> Option<&Node> {
    telemetry.spec_at(["selector", "matchLabels"]).filter(|labels| !labels.members().is_empty())
}

/// The pods it selects.
pub(super) fn pods<'m>(mesh: &'m Mesh, telemetry: &'m Stored) -> Vec<&'m Stored> {
    labels(telemetry).map(|labels| selected(mesh, &telemetry.id.namespace, labels)).unwrap_or_default()
}

/// Whether it is for a whole namespace: it selects nothing and names no Gateway or Service.
pub(super) fn is_default(telemetry: &Stored) -> bool {
    ["selector", "targetRef", "targetRefs"].iter().all(|key| telemetry.spec_at([key]).is_none())
}
