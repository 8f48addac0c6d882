//! The Services that lead to the pods of a Deployment.

use crate::mesh::{Mesh, Stored};
use crate::rules::analyzed::{GATEWAY_MANAGED, is_injected, proxy_image};

/// Each Deployment in the mesh with the Services that select its pods. Waypoints are istiod's own affair.
pub(super) fn all(mesh: &Mesh) -> impl Iterator<Item = (&Stored, Vec<&Stored>)> {
    let deployments = mesh.objects.of_kind("Deployment").iter().filter(|deployment| is_in_mesh(mesh, deployment));
    deployments.map(|deployment| {
        let labels = deployment.spec_at(["template", "metadata", "labels"]);
        let services = mesh.services_selecting(&deployment.id.namespace, labels).into_iter();
        (deployment, services.filter(|service| !service.is_assumed()).collect())
    })
}

fn is_in_mesh(mesh: &Mesh, deployment: &Stored) -> bool {
    let is_waypoint = deployment.label(GATEWAY_MANAGED) == Some("istio.io-mesh-controller");
    let Some(template) = deployment.spec_at(["template"]).filter(|_| !is_waypoint) else { return false };
    template.get("spec").and_then(proxy_image).is_some() || is_injected(mesh, deployment, template)
}

/// `Service shop/a, Service shop/b`
pub(super) fn names<'m>(services: impl IntoIterator<Item = &'m Stored>) -> String {
    let mut names: Vec<String> = services.into_iter().map(|service| service.id.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
