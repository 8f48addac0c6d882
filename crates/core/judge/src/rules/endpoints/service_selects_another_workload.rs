//! See the page beside this file.

use super::called_service::{self, CalledService};
use crate::finding::{Confidence, Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0727",
    name: "service-selects-another-workload",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Warning,
    claim: "a Service that is named like a workload leads to that workload, and to no other that has a Service",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::ReplicaSet,
    ]),
    explains: &["ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("service_selects_another_workload.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        let Some(selector) = called_service::selector(called.service) else {
            continue;
        };
        out.examined();
        let mesh = facts.mesh;
        let name = &called.service.id.name;
        let pods = called.pods(mesh, None);
        let (of_own, others): (Vec<&Object>, Vec<&Object>) = pods
            .iter()
            .partition(|pod| is_named_like(&called_service::workload_ref(mesh, pod).name, name));
        let Some(other) = others.first() else {
            continue;
        };
        let mut own = workloads(mesh, &called.service.id.namespace);
        let Some(first) = own.find(|workload| is_named_like(&workload.id.name, name)) else {
            continue;
        };
        let other = called_service::workload_ref(mesh, other);
        if of_own.is_empty() && !is_selected(mesh, first) {
            let message = format!(
                "{} selects the pods of {other}, and nothing selects those of {}",
                called.service.id, first.id
            );
            tell(&called, selector, message, (first, &others), case, out);
        } else if !of_own.is_empty() && others.iter().all(|pod| has_own_service(mesh, pod)) {
            let message = format!(
                "{} selects the pods of {other} beside those of {}, so some of its calls go there",
                called.service.id, first.id
            );
            tell(&called, selector, message, (first, &others), case, out);
        }
    }
}

fn workloads<'m>(mesh: &'m Mesh, namespace: &str) -> impl Iterator<Item = &'m Object> {
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet].into_iter();
    kinds.flat_map(move |kind| {
        mesh.objects
            .in_namespace(kind, namespace)
            .collect::<Vec<_>>()
    })
}

/// `cart` and `cart-v2` are named like the Service `cart`; `cart-db` is another thing.
fn is_named_like(workload: &str, service: &str) -> bool {
    let is_version = |rest: &str| {
        rest.strip_prefix("-v")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    workload
        .strip_prefix(service)
        .is_some_and(|rest| rest.is_empty() || is_version(rest))
}

/// Whether any Service selects what a workload makes.
fn is_selected(mesh: &Mesh, workload: &Object) -> bool {
    !mesh
        .services_selecting(
            &workload.id.namespace,
            called_service::template_labels(workload),
        )
        .is_empty()
}

/// Whether a Service that is named like a pod's workload selects the pod.
fn has_own_service(mesh: &Mesh, pod: &Object) -> bool {
    let workload = called_service::workload_ref(mesh, pod);
    mesh.services_of(pod)
        .iter()
        .any(|service| is_named_like(&workload.name, &service.id.name))
}

fn tell(
    called: &CalledService<'_>,
    selector: &Node,
    message: String,
    (own, others): (&Object, &[&Object]),
    case: Option<&Case<'_>>,
    out: &mut Sink,
) {
    let id = &called.service.id;
    let finding = out.find(
        id.clone(),
        message,
        Evidence::of(called.service, selector, "what the Service selects"),
    );
    if let Some(labels) = called_service::template_labels(own) {
        finding.see(Evidence::of(
            own,
            labels,
            format!("the labels that {} gives its pods", own.id),
        ));
    }
    // Names are only names.
    finding.confidence(Confidence::Likely);
    called_service::hit(finding, called.service, others, case);
    finding.hits(own.id.clone());
    offer(finding, id, selector, own);
}

/// The labels of the selector as the workload has them; where they fit already, those by which it
/// knows its own pods.
fn offer(finding: &mut Finding, id: &ObjectRef, selector: &Node, own: &Object) {
    let Some(labels) = called_service::template_labels(own) else {
        return;
    };
    let wrong = selector
        .members()
        .iter()
        .filter(|m| labels.str_at(&m.key) != m.value.str());
    // `null` takes a label out of the selector that the workload does not have.
    let mut pairs: Vec<(&str, Option<&str>)> =
        wrong.map(|m| (&*m.key, labels.str_at(&m.key))).collect();
    if pairs.is_empty() {
        let known = own
            .spec_at(["selector", "matchLabels"])
            .map_or(&[][..], Node::members);
        pairs.extend(known.iter().map(|m| (&*m.key, m.value.str())));
    }
    finding.fix(Fix::merge(
        id,
        Value::nested(["spec", "selector"], Value::object(pairs)),
    ));
}
