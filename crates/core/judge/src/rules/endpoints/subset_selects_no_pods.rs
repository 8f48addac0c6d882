//! See the page beside this file.

use super::called_service::{self, CalledService};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::selector;
use meshladder_mesh::traffic::destinations;
use meshladder_mesh::{Object, ObjectRef, PodFacts, ServiceFacts};
use meshladder_text::tree::{Member, Node};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0701",
    name: "subset-selects-no-pods",
    aka: &["IST0173", "KIA0203"],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every subset that a DestinationRule defines selects a pod",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::WorkloadEntry,
        Kind::VirtualService,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML10"],
    docs: include_str!("subset_selects_no_pods.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let host = rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let Some(service) = facts.mesh.service_named(host, &rule.id.namespace) else {
            continue;
        };
        for subset in rule.spec_list("subsets") {
            let name = subset.str_at("name").unwrap_or_default();
            if case.is_none_or(|case| meets(facts, case, service, name)) {
                out.examined();
                subset_of(facts, case, rule, service, subset, out);
            }
        }
    }
}

/// Whether the request may be sent to the subset.
fn meets(facts: &Facts<'_>, case: &Case<'_>, service: &ServiceFacts, subset: &str) -> bool {
    let host = facts.mesh.domain.service(&service.name, &service.namespace);
    case.clusters()
        .any(|cluster| cluster.ends_with(&format!("|{subset}|{host}")))
}

fn subset_of(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    rule: &Object,
    service: &ServiceFacts,
    subset: &Node,
    out: &mut Sink,
) {
    let pods: Vec<&PodFacts> = facts.mesh.pods_of(service).collect();
    let Some(labels) = subset.get("labels") else {
        return;
    };
    let stored = |pod: &PodFacts| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
    let has = |pod: &PodFacts| selector::has_labels(labels, stored(pod).and_then(Object::labels));
    // A Service without any pod is another matter, and so is a workload that should have made the
    // subset's pods.
    if pods.is_empty()
        || pods.iter().any(|pod| has(pod))
        || is_made_by_workload(facts, service, labels)
        || called_service::is_served_elsewhere(facts, case, rule, labels)
    {
        return;
    }
    // Endpoints may also be WorkloadEntries, in the place of pods.
    let mut entries = facts
        .mesh
        .objects
        .in_namespace(Kind::WorkloadEntry, &service.namespace);
    if entries.any(|entry| selector::has_labels(labels, entry.spec_at(["labels"]))) {
        return;
    }
    let name = subset.str_at("name").unwrap_or_default();
    let message = format!(
        "subset {name} of {} wants pods labelled {}, and none of the {} of Service {}/{} is",
        rule.id,
        called_service::labels_in_words(labels),
        called_service::count(pods.len(), "pod"),
        service.namespace,
        service.name
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, labels, format!("what subset {name} selects")),
    );
    finding.hits(ObjectRef::of(
        Kind::Service,
        &service.namespace,
        &service.name,
    ));
    // Whether a workload should have made such pods, Deployments tell, or else the ReplicaSets that
    // they made.
    let sets = Kind::ReplicaSet;
    finding.unsettled.extend(
        facts
            .unread(Kind::Deployment)
            .filter(|_| facts.unread(sets).is_some()),
    );
    // A subset that no route leads to harms nobody.
    if case.is_none() && !is_used(facts, service, name) {
        finding.severity(Severity::Info);
    }
    for stored in pods.iter().filter_map(|pod| stored(pod)) {
        let labels = stored.labels().unwrap_or(&stored.node);
        finding.see(Evidence::of(
            stored,
            labels,
            format!("the labels that {} has", stored.id),
        ));
    }
    if let Some(fix) = fitting(rule, subset, labels, &pods) {
        finding.fix(fix);
    }
    finding.fix(Fix::advice(format!(
        "make the labels of subset {name} equal to those of the pods it is meant for"
    )));
}

fn is_made_by_workload(facts: &Facts<'_>, service: &ServiceFacts, labels: &Node) -> bool {
    let stored = facts.mesh.service(&service.namespace, &service.name);
    let called = stored.map(|service| CalledService {
        service,
        port: None,
        subset: String::new(),
    });
    called.is_some_and(|called| !called.workloads(facts.mesh, Some(labels)).is_empty())
}

fn is_used(facts: &Facts<'_>, service: &ServiceFacts, subset: &str) -> bool {
    let host = facts.mesh.domain.service(&service.name, &service.namespace);
    let services = facts.mesh.objects.of_kind(Kind::VirtualService).iter();
    services
        .flat_map(|service| destinations(service, &facts.mesh.domain))
        .any(|to| to.subset == Some(subset) && to.host == host)
}

/// One label is wrong, and one value of it is left that no other subset has.
fn fitting(rule: &Object, subset: &Node, labels: &Node, pods: &[&PodFacts]) -> Option<Fix> {
    let taken: Vec<&Node> = rule
        .spec_list("subsets")
        .iter()
        .filter_map(|other| other.get("labels"))
        .collect();
    let wrong = |m: &&Member| {
        !pods
            .iter()
            .any(|pod| pod.labels.get(&m.key) == m.value.str())
    };
    let mut members = labels.members().iter().filter(wrong);
    let (Some(member), None) = (members.next(), members.next()) else {
        return None;
    };
    let is_free = |value: &str| {
        !taken
            .iter()
            .any(|labels| labels.str_at(&member.key) == Some(value))
    };
    let mut values: Vec<&str> = pods
        .iter()
        .filter_map(|pod| pod.labels.get(&member.key))
        .collect();
    values.sort_unstable();
    values.dedup();
    values.retain(|value| is_free(value));
    let [value] = values.as_slice() else {
        return None;
    };
    let index = rule
        .spec_list("subsets")
        .iter()
        .position(|other| std::ptr::eq(other, subset))?;
    let key = member.key.replace('~', "~0").replace('/', "~1");
    Some(Fix::patch(
        &rule.id,
        [Op::replace(
            format!("/spec/subsets/{index}/labels/{key}"),
            *value,
        )],
    ))
}
