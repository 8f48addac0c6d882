//! Principals: `trust-domain/ns/namespace/sa/name`.

use super::listed::{conditions, of_sources};
use meshladder_capture::Kind;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// Every principal that a policy names, in sources and in conditions.
pub(super) fn principals(policy: &Object) -> impl Iterator<Item = &Node> {
    let conditions = conditions(policy, &["source.principal"]);
    let values = conditions
        .flat_map(|when| ["values", "notValues"].map(|key| when.items_at(key)))
        .flatten();
    of_sources(policy, &["principals", "notPrincipals"]).chain(values)
}

/// The trust domain of a principal, or of a pattern that names one.
pub(super) fn trust_domain(principal: &str) -> Option<&str> {
    let (domain, _) = principal.split_once("/ns/")?;
    Some(domain).filter(|domain| !domain.contains('*'))
}

/// Whether the mesh seems to span clusters, so that not all of its accounts are here: istiod is
/// told of another one, or a gateway passes on what comes from another network.
pub(super) fn is_of_several_clusters(mesh: &Mesh) -> bool {
    let passes_on = mesh.objects.of_kind(Kind::Gateway).iter().flat_map(servers);
    mesh.objects
        .of_kind(Kind::Secret)
        .iter()
        .any(|secret| secret.label("istio/multiCluster") == Some("true"))
        || passes_on
            .into_iter()
            .any(|server| server.tls_mode == Some("AUTO_PASSTHROUGH"))
}
