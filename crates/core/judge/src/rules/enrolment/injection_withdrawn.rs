//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::container::enrolled;
use super::namespace_revision_unknown::ask_for_injection;
use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, istiod_log};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::PodFacts;
use meshladder_mesh::injection::{Decision, Injectors};
use meshladder_mesh::views::PodTemplate;
use meshladder_text::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0317",
    name: "injection-withdrawn",
    aka: &["IST0102"],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a namespace whose pods have proxies still asks for them",
    needs: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook]),
    uses: super::outsider::USES.and(&[Part::Logs]),
    explains: &["ML0315", "ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("injection_withdrawn.md"),
    check: Check::Either(check),
};

/// A workload whose pods have a proxy that the next ones will not have.
struct Insider<'m> {
    pod: &'m PodFacts,
    decided_by: Decision<'m>,
}

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let outsiders = outsider::all(facts, &injectors, case);
    let mut insiders = insiders(facts, &injectors);
    let mut lost: BTreeMap<&str, Vec<&Outsider<'_>>> = BTreeMap::new();
    for outsider in &outsiders {
        let decided_by = &outsider.injection.decided_by;
        let asks = injectors
            .namespace_labels(&outsider.pod.namespace)
            .is_none_or(|labels| labels.asks());
        if outsider.is_refused() && decided_by.object.id.is(Kind::Namespace) && !asks {
            lost.entry(&outsider.pod.namespace)
                .or_default()
                .push(outsider);
        }
    }
    for (namespace, lost) in &lost {
        out.examined();
        let insiders = insiders.remove(namespace).unwrap_or_default();
        let former = lost.iter().find_map(|outsider| former(facts, outsider));
        if !insiders.is_empty() || former.is_some() {
            tell(facts, case, &injectors, &insiders, lost, former, out);
        }
    }
    // A call of pods that have a proxy goes well until they are made again.
    for insiders in insiders.into_values().filter(|_| case.is_none()) {
        out.examined();
        tell(facts, case, &injectors, &insiders, &[], None, out);
    }
}

/// That a pod of the same workload was connected to istiod before: then it had a proxy.
fn former(facts: &Facts<'_>, outsider: &Outsider<'_>) -> Option<Evidence> {
    let workload = outsider.pod.workload().name;
    let is_of_workload = |pod: &str| {
        let hashes = pod
            .strip_prefix(workload.as_str())
            .and_then(|rest| rest.strip_prefix('-'));
        hashes.is_some_and(|hashes| hashes.split('-').count() <= 2)
    };
    let is_it = |line: &str| {
        istiod_log::proxy_named(line).is_some_and(|(namespace, pod)| {
            namespace == outsider.pod.namespace && is_of_workload(pod) && pod != outsider.pod.name
        })
    };
    istiod_log::last_line(facts, is_it, "a pod of the same workload had a proxy")
}

/// By namespace, the pods that got a proxy when they were made and would get none now, because of
/// the namespace. A proxy that stands in the template was put there by hand, and stays.
fn insiders<'m>(
    facts: &Facts<'m>,
    injectors: &Injectors<'m>,
) -> BTreeMap<&'m str, Vec<Insider<'m>>> {
    let mut found: BTreeMap<&str, Vec<Insider<'_>>> = BTreeMap::new();
    for (pod, stored) in enrolled(facts) {
        let labels = injectors.namespace_labels(&pod.namespace);
        let template = facts
            .mesh
            .workload_of(stored)
            .and_then(PodTemplate::of)
            .filter(|template| !template.has_proxy());
        let (Some(template), false) = (template, labels.is_none_or(|labels| labels.asks())) else {
            continue;
        };
        let injection = injectors.injection(template);
        if injection.expected == Tri::No && injection.decided_by.object.id.is(Kind::Namespace) {
            found.entry(&pod.namespace).or_default().push(Insider {
                pod,
                decided_by: injection.decided_by,
            });
        }
    }
    found
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    injectors: &Injectors<'_>,
    insiders: &[Insider<'_>],
    lost: &[&Outsider<'_>],
    former: Option<Evidence>,
    out: &mut Sink,
) {
    let first = insiders.first().map(|insider| &insider.decided_by);
    let Some(decision) =
        first.or_else(|| lost.first().map(|outsider| &outsider.injection.decided_by))
    else {
        return;
    };
    let namespace = &decision.object.id;
    let keep: BTreeSet<String> = insiders
        .iter()
        .map(|insider| insider.pod.workload().to_string())
        .collect();
    let without: BTreeSet<String> = lost
        .iter()
        .map(|outsider| outsider.pod.workload().to_string())
        .collect();
    let names = |workloads: BTreeSet<String>| match workloads.len() {
        1..=2 => workloads.into_iter().collect::<Vec<_>>().join(", "),
        count => format!("{count} workloads"),
    };
    let harm = match (keep.is_empty(), without.is_empty()) {
        (true, _) => format!(
            "the new pods of {} have no proxy, unlike the last",
            names(without)
        ),
        (false, true) => format!(
            "{} got a proxy before and will lose it when its pods are made again",
            names(keep)
        ),
        (false, false) => format!(
            "{} got a proxy before and will lose it when its pods are made again, and {} has none already",
            names(keep),
            names(without)
        ),
    };
    let message = format!(
        "{namespace} no longer asks for injection ({}): {harm}",
        decision.what
    );
    let proof = Evidence::of(decision.object, decision.node, decision.what.clone());
    let finding = out.find(namespace.clone(), message, proof);
    if lost.is_empty() {
        finding.severity(Severity::Warning);
    }
    finding.evidence.extend(former);
    for insider in insiders {
        finding.hits(insider.pod.reference());
    }
    for outsider in lost {
        outsider.finish(facts, case, finding);
    }
    ask_for_injection(finding, injectors, namespace);
}
