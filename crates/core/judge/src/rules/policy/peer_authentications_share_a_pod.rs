//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::workloads::{self, Selectors};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::{age, selector};

pub(super) static RULE: Rule = Rule {
    code: "ML2651",
    name: "peer-authentications-share-a-pod",
    aka: &["KIA0003"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no workload is selected by two PeerAuthentications",
    needs: Inputs::of(&[Kind::PeerAuthentication]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("peer_authentications_share_a_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let selectors = Selectors::of(facts.mesh.objects.of_kind(Kind::PeerAuthentication).iter());
    let (mut told, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for template in workloads::templates(facts.mesh) {
        out.examined();
        let groups = selectors.selecting(template.namespace(), template.labels());
        let oldest = groups.iter().map(|(_, alike)| alike.oldest);
        let Some(first) = oldest.min_by_key(|policy| age(&policy.node)) else {
            continue;
        };
        // Where a group was seen before, only its oldest may not be told.
        let left = groups.into_iter().flat_map(|(number, alike)| {
            if seen.insert(number) {
                &alike.objects[..]
            } else {
                std::slice::from_ref(&alike.oldest)
            }
        });
        for policy in left.filter(|policy| policy.id != first.id) {
            if !told.insert(&policy.id) {
                continue;
            }
            let workload = &template.object.id;
            let message = format!(
                "{} and {} both select {workload}, and only the oldest counts",
                policy.id, first.id
            );
            let node = selector(policy.spec()).unwrap_or(&policy.node);
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "what it selects"),
            )
            .see(Evidence::of(
                first,
                selector(first.spec()).unwrap_or(&first.node),
                "what the other selects",
            ))
            .fix(Fix::advice(
                "let each workload be selected by one PeerAuthentication",
            ));
        }
    }
}
