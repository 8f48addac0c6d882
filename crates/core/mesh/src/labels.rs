//! Objects by label, so that a selector does not read them all.

use super::{Mesh, Object};
use crate::selector::has_labels;
use meshladder_capture::Kind;
use meshladder_text::tree::{Member, Node};

/// Positions of objects by the hash of a pair of key and value, sorted: what is found must still be
/// compared.
#[derive(Debug, Default)]
pub struct LabelIndex(Box<[(u64, usize)]>);

impl LabelIndex {
    /// Objects by these labels of each.
    pub fn of<'o>(labels: impl Iterator<Item = &'o [Member]>) -> Self {
        let all = labels.enumerate();
        let mut all: Box<[_]> = all
            .flat_map(|(position, pairs)| pairs.iter().map(move |pair| (hash(pair), position)))
            .collect();
        all.sort_unstable();
        Self(all)
    }

    /// Those that may carry all of the labels, in order: the ones with the rarest of them. None
    /// without any label.
    pub fn candidates(&self, wanted: &[&Node]) -> Option<&[(u64, usize)]> {
        let pairs = wanted.iter().flat_map(|labels| labels.members());
        pairs
            .map(|pair| self.with(pair))
            .min_by_key(|positions| positions.len())
    }

    /// Those of `objects`, sorted and in the order of the index, that are in the namespace and may
    /// carry all of the labels; all in the namespace without any label.
    pub fn near<'o>(
        &self,
        objects: &'o [Object],
        namespace: Option<&str>,
        wanted: &[&Node],
    ) -> impl Iterator<Item = &'o Object> + use<'o, '_> {
        let (start, end) = match namespace {
            Some(namespace) => (
                objects.partition_point(|object| object.id.namespace.as_str() < namespace),
                objects.partition_point(|object| object.id.namespace.as_str() <= namespace),
            ),
            None => (0, objects.len()),
        };
        let listed = self.candidates(wanted);
        let all = if listed.is_none() { start..end } else { 0..0 };
        let listed = listed.unwrap_or(&[]);
        let before = |end: usize| listed.partition_point(|(_, position)| *position < end);
        let near = &listed[before(start)..before(end)];
        near.iter()
            .map(|(_, position)| *position)
            .chain(all)
            .map(|position| &objects[position])
    }

    /// Those of `objects`, sorted and in the order of the index, that are in the namespace and may
    /// carry this label.
    pub fn in_namespace<'o>(
        &self,
        objects: &'o [Object],
        namespace: &str,
        pair: &Member,
    ) -> impl Iterator<Item = &'o Object> + use<'o, '_> {
        let listed = self.with(pair);
        let name = |at: &(u64, usize)| objects[at.1].id.namespace.as_str();
        let start = listed.partition_point(|at| name(at) < namespace);
        let end = listed.partition_point(|at| name(at) <= namespace);
        listed[start..end]
            .iter()
            .map(|(_, position)| &objects[*position])
    }

    /// Those that may carry this label, in order.
    pub fn with(&self, pair: &Member) -> &[(u64, usize)] {
        let hash = hash(pair);
        let start = self.0.partition_point(|(own, _)| *own < hash);
        let end = self.0.partition_point(|(own, _)| *own <= hash);
        &self.0[start..end]
    }
}

impl Mesh {
    /// The pods that carry all of the labels, of one namespace or of all.
    pub fn pods_with<'m>(
        &'m self,
        namespace: Option<&str>,
        labels: &'m Node,
    ) -> impl Iterator<Item = &'m Object> {
        self.pods_near(namespace, &[labels])
            .filter(|pod| has_labels(labels, pod.labels()))
    }

    /// The pods that may carry all of the labels: few beside those that do.
    pub fn pods_near<'m>(
        &'m self,
        namespace: Option<&str>,
        wanted: &[&Node],
    ) -> impl Iterator<Item = &'m Object> + use<'m> {
        self.index
            .pods
            .near(self.objects.of_kind(Kind::Pod), namespace, wanted)
    }

    /// The Services of a namespace that select a pod with these labels.
    pub fn services_selecting(&self, namespace: &str, labels: Option<&Node>) -> Vec<&Object> {
        let services = self.objects.of_kind(Kind::Service);
        let pairs = labels.map_or(&[][..], Node::members);
        let listed = pairs
            .iter()
            .flat_map(|pair| self.index.selectors.with(pair));
        let mut found: Vec<usize> = listed.map(|(_, position)| *position).collect();
        found.sort_unstable();
        found.dedup();
        let selects = |service: &&Object| {
            let selector = service.spec_at(["selector"]);
            service.id.namespace == namespace
                && service.group.is_empty()
                && selector.is_some_and(|selector| has_labels(selector, labels))
        };
        found
            .into_iter()
            .map(|position| &services[position])
            .filter(selects)
            .collect()
    }
}

/// FNV-1a, the same in every run.
fn hash(pair: &Member) -> u64 {
    let value = pair.value.str().unwrap_or_default();
    let bytes = pair.key.bytes().chain([0]).chain(value.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

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
            format!(
                "kind: Pod\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\n---\n"
            )
        };
        let wanted = "kind: Wanted\nmetadata: {name: w}\nspec:\n- {app: x}\n- {app: x, version: v1}\n- {}\n- {app: z}\n";
        let mesh = mesh_of(&(pods.map(pod).concat() + wanted));
        let wanted = mesh.objects.called("Wanted").next();
        let wanted = wanted.and_then(Object::spec).expect("it is there");
        for labels in wanted.items() {
            for namespace in [None, Some("a"), Some("b"), Some("c"), Some("d")] {
                let is_in =
                    |pod: &&Object| namespace.is_none_or(|namespace| pod.id.namespace == namespace);
                let all = mesh.objects.of_kind(Kind::Pod).iter().filter(is_in);
                let expected: Vec<_> = all
                    .filter(|pod| has_labels(labels, pod.labels()))
                    .map(|pod| &pod.id)
                    .collect();
                let found: Vec<_> = mesh
                    .pods_with(namespace, labels)
                    .map(|pod| &pod.id)
                    .collect();
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
        let pod = mesh.objects.get(Kind::Pod, "a", "p").expect("it is there");
        let names: Vec<_> = mesh
            .services_selecting("a", pod.labels())
            .iter()
            .map(|s| s.id.name.as_str())
            .collect();
        assert_eq!(names, ["one"]);
    }
}
