//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) static RULE: Rule = Rule {
    code: "ML3902",
    name: "groups-alike",
    aka: &["KIA1702"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "the WorkloadGroups of a namespace differ in their labels",
    needs: Inputs::of(&[Kind::WorkloadGroup]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("groups_alike.md"),
    check: Check::Object(check),
};

/// A namespace and labels, sorted.
type Key<'m> = (&'m str, Vec<(&'m str, Option<&'m str>)>);

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut seen: BTreeMap<Key<'_>, &Object> = BTreeMap::new();
    for group in facts.mesh.objects.of_kind(Kind::WorkloadGroup) {
        out.examined();
        let node = group
            .spec_at(["metadata", "labels"])
            .filter(|labels| !labels.members().is_empty());
        let Some(node) = node else { continue };
        let mut labels: Vec<_> = node
            .members()
            .iter()
            .map(|label| (&*label.key, label.value.str()))
            .collect();
        labels.sort_unstable();
        let other = *seen.entry((&group.id.namespace, labels)).or_insert(group);
        if other.id == group.id {
            continue;
        }
        let message = format!(
            "{} and {} give their machines the same labels",
            group.id, other.id
        );
        out.find(
            group.id.clone(),
            message,
            Evidence::of(group, node, "the labels"),
        )
        .see(Evidence::object(other, "the other"))
        .fix(Fix::advice("give one of them a label of its own"));
    }
}
