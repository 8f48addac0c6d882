//! See the page beside this file.

use super::called_service::{self, CalledService};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::near;
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0702",
    name: "service-selects-no-pods",
    aka: &["KIA0701"],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every Service's selector matches a pod",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::of(&[
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::WorkloadEntry,
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
    ]),
    explains: &["ML07", "ML09", "ML10"],
    docs: include_str!("service_selects_no_pods.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        let Some(selector) = called_service::selector(called.service) else {
            continue;
        };
        out.examined();
        if is_served(facts.mesh, &called, selector)
            || called_service::is_served_elsewhere(facts, case, called.service, selector)
        {
            continue;
        }
        let near = nearest(facts.mesh, called.service, selector);
        let id = &called.service.id;
        let wants = called_service::labels_in_words(selector);
        let message = match &near {
            Some(near) => format!(
                "{id} selects {wants}, which no pod in {} has; {} has {}={}",
                id.namespace, near.object.id, near.key, near.value
            ),
            None => format!("{id} selects {wants}, which no pod in {} has", id.namespace),
        };
        let finding = out.find(
            id.clone(),
            message,
            Evidence::of(called.service, selector, "what the Service selects"),
        );
        called_service::hit(finding, called.service, &[], case);
        // An idle Service harms nobody until it is called.
        if case.is_none() {
            let likely = near
                .as_ref()
                .is_some_and(|near| near.is_typo && !is_selected(facts.mesh, near.object));
            finding.severity(if likely {
                Severity::Warning
            } else {
                Severity::Info
            });
        }
        if let Some(near) = near {
            finding.see(Evidence::of(
                near.object,
                near.labels,
                format!("the labels of {}", near.object.id),
            ));
            finding.fix(near.fix(&called.service.id, "selector"));
        }
        finding.fix(Fix::look(shell::command(
            "kubectl get pods -n {} --show-labels",
            &[&id.namespace],
        )));
    }
}

fn is_served(mesh: &Mesh, called: &CalledService<'_>, selector: &Node) -> bool {
    let entries = mesh
        .objects
        .in_namespace(Kind::WorkloadEntry, &called.service.id.namespace);
    !called.pods(mesh, None).is_empty()
        || !called.workloads(mesh, None).is_empty()
        || entries
            .into_iter()
            .any(|entry| has_labels(selector, entry.spec_at(["labels"])))
}

/// Whether another Service takes the pod, or a workload's pods.
fn is_selected(mesh: &Mesh, object: &Object) -> bool {
    let labels = if object.id.is(Kind::Pod) {
        object.labels()
    } else {
        called_service::template_labels(object)
    };
    !mesh
        .services_selecting(&object.id.namespace, labels)
        .is_empty()
}

/// Something that differs from a selector in one label.
pub(super) struct Near<'m> {
    pub(super) object: &'m Object,
    pub(super) labels: &'m Node,
    /// The label of the selector that does not fit.
    wrong: String,
    /// What it should be.
    pub(super) key: String,
    pub(super) value: String,
    distance: usize,
    pub(super) is_typo: bool,
}

impl Near<'_> {
    /// Corrects the selector, which stands at a path of the object's spec: `selector`,
    /// `workloadSelector/labels`.
    pub(super) fn fix(&self, id: &ObjectRef, path: &str) -> Fix {
        let mut labels = Vec::new();
        if self.wrong != self.key {
            labels.push((&self.wrong, Value::Null));
        }
        labels.push((&self.key, Value::from(&self.value)));
        let mut patch = Value::object(labels);
        for key in path.rsplit('/').chain(["spec"]) {
            patch = Value::nested([key], patch);
        }
        Fix::merge(id, patch)
    }
}

/// The pods that a Service is meant for: those it selects, else those that its selector misses by
/// one label.
pub(in crate::rules) fn meant_pods<'m>(mesh: &'m Mesh, service: &'m Object) -> Vec<&'m Object> {
    let selected = CalledService {
        service,
        port: None,
        subset: String::new(),
    }
    .pods(mesh, None);
    let near = called_service::selector(service)
        .filter(|_| selected.is_empty())
        .and_then(|all| nearest(mesh, service, all));
    let Some(near) = near else { return selected };
    if near.object.id.is(Kind::Pod) {
        return vec![near.object];
    }
    let pods = mesh.objects.in_namespace(Kind::Pod, &service.id.namespace);
    pods.filter(|pod| called_service::workload_ref(mesh, pod) == near.object.id)
        .collect()
}

fn nearest<'m>(mesh: &'m Mesh, service: &Object, selector: &Node) -> Option<Near<'m>> {
    let namespace = &service.id.namespace;
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet].into_iter();
    let workloads = kinds.flat_map(|kind| mesh.objects.in_namespace(kind, namespace));
    let workloads = workloads
        .filter_map(|workload| Some((workload, called_service::template_labels(workload)?)));
    let pods = mesh
        .objects
        .in_namespace(Kind::Pod, namespace)
        .filter_map(|pod| Some((pod, pod.labels()?)));
    nearest_of(service, selector, workloads.chain(pods))
}

/// Of several labelled objects the one that a selector misses by the least.
pub(super) fn nearest_of<'m>(
    selecting: &Object,
    selector: &Node,
    candidates: impl Iterator<Item = (&'m Object, &'m Node)>,
) -> Option<Near<'m>> {
    let near = candidates.filter_map(|(object, labels)| near(selecting, selector, object, labels));
    near.min_by(|a, b| (a.distance, &a.object.id).cmp(&(b.distance, &b.object.id)))
}

fn near<'m>(
    service: &Object,
    selector: &Node,
    object: &'m Object,
    labels: &'m Node,
) -> Option<Near<'m>> {
    let fits =
        |key: &str, value: Option<&str>| labels.get(key).is_some_and(|label| label.str() == value);
    let mut wrong = selector
        .members()
        .iter()
        .filter(|m| !fits(&m.key, m.value.str()));
    let (Some(member), None) = (wrong.next(), wrong.next()) else {
        return None;
    };
    let wanted = member.value.str()?;
    let of = |key: &str, value: &str, distance, is_typo| Near {
        object,
        labels,
        wrong: member.key.to_string(),
        key: key.to_owned(),
        value: value.to_owned(),
        distance,
        is_typo,
    };
    if let Some(value) = labels.get(&member.key).and_then(Node::str) {
        let distance = near::distance(wanted, value);
        let is_typo = distance <= 2 && wanted.len() > 3;
        let related = is_typo || selector.members().len() > 1 || object.id.name == service.id.name;
        return related.then(|| of(&member.key, value, distance, is_typo));
    }
    let renamed = labels
        .members()
        .iter()
        .find(|m| m.value.str() == Some(wanted))?;
    Some(of(&renamed.key, wanted, 1, true))
}
