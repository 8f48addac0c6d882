//! As the objects alone show it.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::views::Pod;
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod, Kind::Namespace]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let in_mesh = |pod: &&Object| Pod::of(pod).is_in_mesh(facts.mesh);
    let root = &*facts.mesh.config.root_namespace;
    let namespaces: BTreeSet<&str> = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(in_mesh)
        .map(|pod| pod.id.namespace.as_str())
        .collect();
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        out.examined();
        if ["targetRef", "targetRefs"]
            .iter()
            .any(|key| policy.spec_at([key]).is_some())
        {
            continue;
        }
        let namespace = policy.id.namespace.as_str();
        let labels = policy
            .spec_at(["selector", "matchLabels"])
            .filter(|labels| !labels.members().is_empty());
        let is_for_some = match labels {
            None => namespace == root || namespaces.contains(namespace),
            Some(labels) => {
                let near = Some(namespace).filter(|namespace| *namespace != root);
                facts.mesh.pods_with(near, labels).any(|pod| in_mesh(&pod))
            }
        };
        if !is_for_some {
            let whom = labels.map_or_else(|| "all pods of its namespace".to_owned(), Node::to_json);
            let message = format!(
                "{} is for {whom}, and there is no such pod in the mesh",
                policy.id
            );
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, labels.unwrap_or(&policy.node), "whom it is for"),
            )
            .fix(Fix::advice(
                "select the labels of pods that are in the mesh",
            ));
        }
    }
}
