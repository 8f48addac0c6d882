//! Policies whose selector misses the workload that they were written for.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Op, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::endpoints::called_service;
use crate::rules::workloads::Selectors;
use crate::rules::{Case, Facts, Sink, workloads};
use meshladder_capture::Kind;
use meshladder_mesh::policies::selector;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

/// Those objects of some kinds that select a workload, or a template of one.
pub(in crate::rules) fn selecting<'f>(
    facts: &Facts<'f>,
    kinds: &[Kind],
) -> BTreeSet<&'f ObjectRef> {
    let mesh = facts.mesh;
    let selectors = Selectors::of(kinds.iter().flat_map(|kind| mesh.objects.of_kind(*kind)));
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for (namespace, labels) in workloads::labels(mesh) {
        let root = selectors.selecting(&mesh.config.root_namespace, labels);
        used.extend(
            selectors
                .selecting(namespace, labels)
                .into_iter()
                .chain(root)
                .map(|(number, _)| number),
        );
    }
    used.into_iter()
        .flat_map(|number| selectors.numbered(number))
        .map(|object| &object.id)
        .collect()
}

/// The policies of some kinds that have a selector, by which they select nobody. One with
/// targetRefs selects otherwise.
pub(in crate::rules) fn for_nobody<'f>(facts: &Facts<'f>, kinds: &[Kind]) -> Vec<&'f Object> {
    let mesh = facts.mesh;
    let has_selector = |policy: &&Object| {
        let has_target = ["targetRef", "targetRefs"]
            .iter()
            .any(|key| policy.spec_at([key]).is_some());
        !has_target && selector(policy.spec()).is_some_and(|wanted| !wanted.members().is_empty())
    };
    let with_selector: Vec<&Object> = kinds
        .iter()
        .flat_map(|kind| mesh.objects.of_kind(*kind))
        .filter(has_selector)
        .collect();
    if with_selector.is_empty() {
        return with_selector;
    }
    let found = selecting(facts, kinds);
    with_selector
        .into_iter()
        .filter(|policy| !found.contains(&policy.id))
        .collect()
}

/// Tells of a policy that selects nobody: misspelt, in another namespace, or for something that is
/// gone.
pub(in crate::rules) fn tell_nobody(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    policy: &Object,
    out: &mut Sink,
) {
    let Some(wanted) = selector(policy.spec()) else {
        return;
    };
    let words = called_service::labels_in_words(wanted);
    let is_asked = |pod: &&Object| {
        case.is_none_or(|case| {
            case.servers
                .iter()
                .any(|server| server.reference() == pod.id)
        })
    };
    let pods = || {
        facts
            .mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(is_asked)
    };
    let near = pods().find_map(|pod| Some((pod, slip(policy, pod)?)));
    if let Some((pod, (label, own))) = near {
        let workload = called_service::workload_ref(facts.mesh, pod);
        let message = format!(
            "{} selects {words}, which nothing has: {workload} has {own}",
            policy.id
        );
        let finding = out.find(
            policy.id.clone(),
            message,
            Evidence::of(policy, label, "what it selects"),
        );
        finding.hits(pod.id.clone());
        finding.fix(Fix::patch(
            &policy.id,
            [Op::replace(policy.path_of(label), &own)],
        ));
        return;
    }
    let elsewhere = pods().find(|pod| has_labels(wanted, pod.labels()));
    if let Some(pod) = elsewhere {
        let message = format!(
            "{} selects {words}, which {} has, but a policy reaches only its own namespace",
            policy.id,
            called_service::workload_ref(facts.mesh, pod)
        );
        let finding = out.find(
            policy.id.clone(),
            message,
            Evidence::of(policy, wanted, "what it selects"),
        );
        finding.hits(pod.id.clone());
        finding.fix(Fix::advice(format!(
            "move it to namespace {}",
            pod.id.namespace
        )));
    } else if case.is_none() {
        // What it was for may be gone.
        let message = format!(
            "{} selects {words}, which nothing has, so that it does nothing",
            policy.id
        );
        let finding = out.find(
            policy.id.clone(),
            message,
            Evidence::of(policy, wanted, "what it selects"),
        );
        finding
            .severity(Severity::Info)
            .when_asked(Severity::Warning);
        finding.fix(Fix::advice(
            "select the labels that the workload has, or delete it",
        ));
    }
}

/// The one label by which a selector misses a pod, when it is but a slip of the finger: its place,
/// and what the pod has.
pub(in crate::rules) fn slip<'r>(policy: &'r Object, pod: &Object) -> Option<(&'r Node, String)> {
    let wanted = selector(policy.spec())?.members();
    let has = |key: &str| pod.label(key).unwrap_or_default().to_owned();
    let mut wrong = wanted
        .iter()
        .filter(|member| member.value.str() != Some(has(&member.key).as_str()));
    let (one, None) = (wrong.next()?, wrong.next()) else {
        return None;
    };
    let own = has(&one.key);
    let is_near = pod.id.namespace == policy.id.namespace
        && nearest(one.value.str()?, std::iter::once(own.as_str())).is_some();
    (is_near && !own.is_empty()).then_some((&one.value, own))
}
