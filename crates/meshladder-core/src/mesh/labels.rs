//! Objects by label, so that a selector does not read them all.

use std::collections::BTreeMap;

use super::{Mesh, Stored};
use crate::doc::tree::{Member, Node};
use crate::model::selector::has_labels;

/// Positions of objects by the hash of a pair of key and value: what is found must still be compared.
#[derive(Debug, Default)]
pub(super) struct LabelIndex {
    by_pair: BTreeMap<u64, Vec<usize>>,
}

impl LabelIndex {
    pub(super) fn add(&mut self, pairs: &[Member], position: usize) {
        for pair in pairs {
            self.by_pair.entry(hash(pair)).or_default().push(position);
        }
    }

    /// Those that may carry all of the pairs, in order: the ones with the rarest of them. None without any pair.
    fn candidates(&self, wanted: &Node) -> Option<&[usize]> {
        wanted.members().iter().map(|pair| self.with(pair)).min_by_key(|positions| positions.len())
    }

    fn with(&self, pair: &Member) -> &[usize] {
        self.by_pair.get(&hash(pair)).map_or(&[], Vec::as_slice)
    }
}

impl Mesh {
    /// The pods that carry all of the labels, of one namespace or of all.
    pub fn pods_with<'m>(&'m self, namespace: Option<&str>, labels: &'m Node) -> impl Iterator<Item = &'m Stored> {
        let pods = self.objects.of_kind("Pod");
        let (start, end) = namespace.map_or((0, pods.len()), |namespace| {
            let start = pods.partition_point(|pod| pod.id.namespace.as_str() < namespace);
            (start, pods.partition_point(|pod| pod.id.namespace.as_str() <= namespace))
        });
        let listed = self.index.pods.candidates(labels);
        let all = if listed.is_none() { start..end } else { 0..0 };
        let listed = listed.unwrap_or(&[]);
        let near = &listed[listed.partition_point(|at| *at < start)..listed.partition_point(|at| *at < end)];
        let positions = near.iter().copied().chain(all);
        positions.map(|position| &pods[position]).filter(|pod| has_labels(labels, pod.labels()))
    }

    /// The Services of a namespace that select a pod with these labels.
    pub fn services_selecting(&self, namespace: &str, labels: Option<&Node>) -> Vec<&Stored> {
        let services = self.objects.of_kind("Service");
        let pairs = labels.map_or(&[][..], Node::members);
        let mut found: Vec<usize> = pairs.iter().flat_map(|pair| self.index.selectors.with(pair)).copied().collect();
        found.sort_unstable();
        found.dedup();
        let selects = |service: &&Stored| {
            let selector = service.spec_at(["selector"]);
            service.id.namespace == namespace
                && service.group.is_empty()
                && selector.is_some_and(|selector| has_labels(selector, labels))
        };
        found.into_iter().map(|position| &services[position]).filter(selects).collect()
    }
}

/// FNV-1a, the same in every run.
fn hash(pair: &Member) -> u64 {
    let value = pair.value.str().unwrap_or_default();
    let bytes = pair.key.bytes().chain([0]).chain(value.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::tests::mesh_of;

    #[test]
    fn a_selector_finds_what_reading_all_pods_finds() {
        let pods = [
            ("a", "one", "app: x, version: v1"),
            ("a", "two", "app: x"),
            ("b", "three", "app: x, version: v1"),
            ("b", "four", "app: y"),
            ("c", "five", ""),
        ];
        let pod = |(namespace, name, labels): (&str, &str, &str)| {
            format!("kind: Pod\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\n---\n")
        };
        let wanted =
            "kind: Wanted\nmetadata: {name: w}\nspec:\n- {app: x}\n- {app: x, version: v1}\n- {}\n- {app: z}\n";
        let mesh = mesh_of(&(pods.map(pod).concat() + wanted));
        let wanted = mesh.objects.of_kind("Wanted")[0].spec().expect("it is there");
        for labels in wanted.items() {
            for namespace in [None, Some("a"), Some("b"), Some("c"), Some("d")] {
                let is_in = |pod: &&Stored| namespace.is_none_or(|namespace| pod.id.namespace == namespace);
                let all = mesh.objects.of_kind("Pod").iter().filter(is_in);
                let expected: Vec<_> = all.filter(|pod| has_labels(labels, pod.labels())).map(|pod| &pod.id).collect();
                let found: Vec<_> = mesh.pods_with(namespace, labels).map(|pod| &pod.id).collect();
                assert_eq!(found, expected, "{} in {namespace:?}", labels.to_json());
            }
        }
    }

    #[test]
    fn a_service_is_found_by_the_labels_it_selects() {
        let mesh = mesh_of(
            "kind: Service
metadata: {name: both, namespace: a}
spec: {selector: {app: x, version: v1}}
---
kind: Service
metadata: {name: one, namespace: a}
spec: {selector: {app: x}}
---
kind: Service
metadata: {name: elsewhere, namespace: b}
spec: {selector: {app: x}}
---
kind: Service
metadata: {name: none, namespace: a}
---
kind: Pod
metadata: {name: p, namespace: a, labels: {app: x, version: v2}}
",
        );
        let pod = mesh.objects.get("Pod", "a", "p").expect("it is there");
        let names: Vec<_> = mesh.services_selecting("a", pod.labels()).iter().map(|s| s.id.name.as_str()).collect();
        assert_eq!(names, ["one"]);
    }
}
