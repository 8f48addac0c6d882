//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::container::enrolled;
use super::namespace_revision_unknown::ask_for_injection;
use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
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
    uses: super::outsider::USES,
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
    for (namespace, insiders) in insiders(facts, &injectors) {
        let by_namespace = |outsider: &&Outsider<'_>| {
            outsider.pod.namespace == namespace
                && outsider.is_refused()
                && outsider.injection.decided_by.object.id.is(Kind::Namespace)
        };
        let lost: Vec<&Outsider<'_>> = outsiders.iter().filter(by_namespace).collect();
        out.examined();
        // A call of pods that have a proxy goes well until they are made again.
        if case.is_none() || !lost.is_empty() {
            tell(facts, case, &injectors, &insiders, &lost, out);
        }
    }
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
    out: &mut Sink,
) {
    let Some(decision) = insiders.first().map(|insider| &insider.decided_by) else {
        return;
    };
    let namespace = &decision.object.id;
    let names: BTreeSet<String> = insiders
        .iter()
        .map(|insider| insider.pod.workload().to_string())
        .collect();
    let keep = match names.len() {
        1..=2 => format!(
            "{} got a proxy before and will lose it",
            names.into_iter().collect::<Vec<_>>().join(", ")
        ),
        count => format!("{count} workloads got a proxy before and will lose it"),
    };
    let without: BTreeSet<String> = lost
        .iter()
        .map(|outsider| outsider.pod.workload().to_string())
        .collect();
    let harm = match without.len() {
        0 => String::new(),
        1..=2 => format!(
            ", and {} has none already",
            without.into_iter().collect::<Vec<_>>().join(", ")
        ),
        count => format!(", and {count} workloads have none already"),
    };
    let message = format!(
        "{namespace} no longer asks for injection ({}): {keep} when its pods are made again{harm}",
        decision.what
    );
    let proof = Evidence::of(decision.object, decision.node, decision.what.clone());
    let finding = out.find(namespace.clone(), message, proof);
    if lost.is_empty() {
        finding.severity(Severity::Warning);
    }
    for insider in insiders {
        finding.hits(insider.pod.reference());
    }
    for outsider in lost {
        outsider.finish(facts, case, finding);
    }
    ask_for_injection(finding, injectors, namespace);
}
