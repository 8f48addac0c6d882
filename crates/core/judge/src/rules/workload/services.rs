//! The Services that lead to the pods of a Deployment.

use std::collections::BTreeMap;

use crate::rules::analyzed::GATEWAY_MANAGED;
use meshladder_capture::Kind;
use meshladder_mesh::labels::LabelIndex;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::views::PodTemplate;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// Deployments that are behind the same Services.
pub(super) struct Behind<'m> {
    pub(super) deployments: Vec<&'m Object>,
    pub(super) services: Vec<&'m Object>,
}

/// The Deployments in the mesh with the Services that select their pods. Waypoints are istiod's own
/// affair. Services with one selector and Deployments with the same Services are taken together:
/// there may be many of each.
pub(super) fn all(mesh: &Mesh) -> Vec<Behind<'_>> {
    let mut alike: BTreeMap<(&str, String), Vec<&Object>> = BTreeMap::new();
    for service in mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .filter(|service| !service.is_assumed())
    {
        if let Some(selector) = service
            .spec_at(["selector"])
            .filter(|selector| !selector.members().is_empty())
        {
            alike
                .entry((&service.id.namespace, selector.to_json()))
                .or_default()
                .push(service);
        }
    }
    let alike: Vec<Vec<&Object>> = alike.into_values().collect();
    let first = |services| {
        selector(services)
            .and_then(|selector| selector.members().get(..1))
            .unwrap_or(&[])
    };
    let index = LabelIndex::of(alike.iter().map(|services| first(services)));
    let mut found: BTreeMap<Vec<usize>, Vec<&Object>> = BTreeMap::new();
    for deployment in mesh
        .objects
        .of_kind(Kind::Deployment)
        .iter()
        .filter(|deployment| is_in_mesh(mesh, deployment))
    {
        let labels = deployment.spec_at(["template", "metadata", "labels"]);
        let near = labels
            .map_or(&[][..], Node::members)
            .iter()
            .flat_map(|label| index.with(label));
        let selects = |services: &[&Object]| {
            services[0].id.namespace == deployment.id.namespace
                && selector(services).is_some_and(|selector| has_labels(selector, labels))
        };
        let mut selecting: Vec<usize> = near
            .map(|(_, at)| *at)
            .filter(|at| selects(&alike[*at]))
            .collect();
        selecting.sort_unstable();
        selecting.dedup();
        found.entry(selecting).or_default().push(deployment);
    }
    let of = |selecting: Vec<usize>| {
        selecting
            .into_iter()
            .flat_map(|at| alike[at].clone())
            .collect()
    };
    found
        .into_iter()
        .map(|(selecting, deployments)| Behind {
            deployments,
            services: of(selecting),
        })
        .collect()
}

/// As many Services as a finding shows.
pub(super) const MOST_SHOWN: usize = 8;

fn selector<'m>(services: &[&'m Object]) -> Option<&'m Node> {
    services[0].spec_at(["selector"])
}

fn is_in_mesh(mesh: &Mesh, deployment: &Object) -> bool {
    let is_waypoint = deployment.label(GATEWAY_MANAGED) == Some("istio.io-mesh-controller");
    let template = PodTemplate::of(deployment).filter(|_| !is_waypoint);
    template.is_some_and(|template| template.is_in_mesh(mesh))
}

/// `Service shop/a, Service shop/b`, and how many more when there are many.
pub(super) fn names<'m>(services: impl IntoIterator<Item = &'m Object>) -> String {
    let mut names: Vec<String> = services
        .into_iter()
        .map(|service| service.id.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(MOST_SHOWN);
    names.truncate(MOST_SHOWN);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}
