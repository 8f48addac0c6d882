//! What runs pods, or will once it is applied: pods, the templates of what makes them, and machines
//! outside the cluster.

use crate::rules::Facts;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::absence::holds;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::{age, selector};
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::views::PodTemplate;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::{Member, Node};

/// The kinds that have the labels of a workload.
pub(in crate::rules) const KINDS: [Kind; 6] = [
    Kind::Pod,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::WorkloadEntry,
    Kind::WorkloadGroup,
];

/// For the `uses` of a rule.
pub(in crate::rules) const INPUTS: Inputs = Inputs::of(&KINDS);

/// The pods of all namespaces, and the templates of those to come.
pub(in crate::rules) fn templates(mesh: &Mesh) -> impl Iterator<Item = PodTemplate<'_>> {
    objects(mesh).filter_map(PodTemplate::of)
}

/// The namespace and labels of every workload: machines outside the cluster too, whatever else has
/// the template of a pod, and what is assumed.
pub(in crate::rules) fn labels(mesh: &Mesh) -> impl Iterator<Item = (&str, Option<&Node>)> {
    mesh.objects.all().filter_map(|object| {
        let labels = match object.id.kind.as_str() {
            "Pod" => object.labels(),
            "WorkloadEntry" => object.spec_at(["labels"]),
            "WorkloadGroup" => object.spec_at(["metadata", "labels"]),
            "CronJob" => object.spec_at(["jobTemplate", "spec", "template", "metadata", "labels"]),
            _ => Some(object.spec_at(["template", "metadata", "labels"])?),
        };
        Some((object.id.namespace.as_str(), labels))
    })
}

/// The namespaces that have workloads.
pub(in crate::rules) fn namespaces(mesh: &Mesh) -> BTreeSet<&str> {
    objects(mesh)
        .map(|object| object.id.namespace.as_str())
        .collect()
}

/// What is only assumed is none of them.
fn objects(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    KINDS
        .into_iter()
        .flat_map(|kind| mesh.objects.of_kind(kind))
        .filter(|object| !object.is_assumed())
}

/// Whether workloads are known at all.
pub(in crate::rules) fn are_known(facts: &Facts<'_>) -> bool {
    KINDS.into_iter().any(|kind| holds(facts, kind))
}

/// Objects that select workloads, by namespace and one of the labels they want: those that select a
/// workload are then found without trying all. Those that want the same are one, so that many
/// objects for many workloads are not many times many.
pub(in crate::rules) struct Selectors<'m> {
    alike: Vec<Alike<'m>>,
    by_label: BTreeMap<(&'m str, &'m str, &'m str), Vec<usize>>,
    /// Those that want no labels, by namespace.
    unlabelled: BTreeMap<&'m str, Alike<'m>>,
}

/// Objects of a namespace that want the same labels, or none.
pub(in crate::rules) struct Alike<'m> {
    wanted: Option<&'m Node>,
    /// In the order of their identities.
    pub(in crate::rules) objects: Vec<&'m Object>,
    /// The one that counts where only one does.
    pub(in crate::rules) oldest: &'m Object,
}

impl<'m> Alike<'m> {
    fn of(first: &'m Object, wanted: Option<&'m Node>) -> Self {
        Self {
            wanted,
            objects: Vec::new(),
            oldest: first,
        }
    }

    fn push(&mut self, object: &'m Object) {
        if age(&object.node) < age(&self.oldest.node) {
            self.oldest = object;
        }
        self.objects.push(object);
    }
}

/// A namespace, and the labels that are wanted in it.
type Wanted<'m> = (&'m str, Vec<(&'m str, &'m str)>);

impl<'m> Selectors<'m> {
    /// By the selectors of Istio's objects.
    pub(in crate::rules) fn of(objects: impl Iterator<Item = &'m Object>) -> Self {
        Self::by(objects, |object| selector(object.spec()))
    }

    /// By the labels they want of a workload.
    pub(in crate::rules) fn by(
        objects: impl Iterator<Item = &'m Object>,
        wanted: fn(&Object) -> Option<&Node>,
    ) -> Self {
        let mut found = Self {
            alike: Vec::new(),
            by_label: BTreeMap::new(),
            unlabelled: BTreeMap::new(),
        };
        let mut known: BTreeMap<Wanted<'_>, usize> = BTreeMap::new();
        for object in objects {
            let namespace = object.id.namespace.as_str();
            let Some(wanted) = wanted(object).filter(|labels| !labels.members().is_empty()) else {
                found
                    .unlabelled
                    .entry(namespace)
                    .or_insert_with(|| Alike::of(object, None))
                    .push(object);
                continue;
            };
            let mut pairs: Vec<_> = wanted.members().iter().map(pair).collect();
            let (key, value) = pairs[0];
            pairs.sort_unstable();
            let at = *known.entry((namespace, pairs)).or_insert_with(|| {
                found
                    .by_label
                    .entry((namespace, key, value))
                    .or_default()
                    .push(found.alike.len());
                found.alike.push(Alike::of(object, Some(wanted)));
                found.alike.len() - 1
            });
            found.alike[at].push(object);
        }
        found
    }

    /// Those of a namespace that want no labels.
    pub(in crate::rules) fn unlabelled(&self, namespace: &str) -> Option<&Alike<'m>> {
        self.unlabelled.get(namespace)
    }

    /// Those of a namespace that select a workload with these labels, each with its number.
    pub(in crate::rules) fn selecting(
        &self,
        namespace: &str,
        labels: Option<&Node>,
    ) -> Vec<(usize, &Alike<'m>)> {
        let members = labels.map_or(&[][..], Node::members).iter().map(pair);
        let near = members
            .filter_map(|(key, value)| self.by_label.get(&(namespace, key, value)))
            .flatten();
        let selects = |alike: &Alike<'_>| {
            alike
                .wanted
                .is_some_and(|wanted| has_labels(wanted, labels))
        };
        near.map(|&at| (at, &self.alike[at]))
            .filter(|(_, alike)| selects(alike))
            .collect()
    }

    /// Those with this number.
    pub(in crate::rules) fn numbered(&self, number: usize) -> &[&'m Object] {
        &self.alike[number].objects
    }
}

fn pair(label: &Member) -> (&str, &str) {
    (&label.key, label.value.str().unwrap_or_default())
}

/// Objects that share a workload with another one of the same kind, each once, with the other and
/// the workload.
pub(in crate::rules) fn sharing<'m>(
    selectors: &Selectors<'m>,
    workloads: impl Iterator<Item = (&'m Object, Option<&'m Node>)>,
) -> Vec<(&'m Object, &'m Object, &'m ObjectRef)> {
    let mut found: BTreeMap<&ObjectRef, (&Object, &Object, &ObjectRef)> = BTreeMap::new();
    for (workload, labels) in workloads {
        let groups = selectors.selecting(&workload.id.namespace, labels);
        let mut first: Vec<&Object> = groups
            .iter()
            .flat_map(|(_, alike)| alike.objects.iter().take(2).copied())
            .collect();
        first.sort_by_key(|object| &object.id);
        let [first, second, ..] = first[..] else {
            continue;
        };
        for (_, alike) in groups {
            if found.contains_key(&alike.objects[0].id) {
                continue;
            }
            for object in &alike.objects {
                let other = if object.id == first.id { second } else { first };
                found.insert(&object.id, (object, other, &workload.id));
            }
        }
    }
    found.into_values().collect()
}
