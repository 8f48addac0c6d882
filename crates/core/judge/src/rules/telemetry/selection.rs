//! Which pods a Telemetry is for.

use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// The labels it selects; none for a whole namespace.
pub(super) fn labels(telemetry: &Object) -> Option<&Node> {
    telemetry
        .spec_at(["selector", "matchLabels"])
        .filter(|labels| !labels.members().is_empty())
}

/// The pods it selects.
pub(super) fn pods<'m>(mesh: &'m Mesh, telemetry: &'m Object) -> impl Iterator<Item = &'m Object> {
    labels(telemetry)
        .into_iter()
        .flat_map(|labels| mesh.pods_with(Some(&telemetry.id.namespace), labels))
}

/// Whether it is for a whole namespace: it selects nothing and names no Gateway or Service.
pub(super) fn is_default(telemetry: &Object) -> bool {
    ["selector", "targetRef", "targetRefs"]
        .iter()
        .all(|key| telemetry.spec_at([key]).is_none())
}
