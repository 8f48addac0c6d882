//! See the page beside this file.

use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::host::fqdn;
use crate::mesh::{Mesh, Stored};
use crate::model::selector::has_labels;
use crate::rules::analyzed::{DEPLOYMENTS, DESTINATION_RULES, PODS, SERVICES};
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML2103",
    name: "subset-finds-no-pod",
    aka: &["IST0173", "KIA0203"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every subset of a DestinationRule has the labels of a pod",
    needs: &[DESTINATION_RULES, PODS, SERVICES],
    uses: &[DEPLOYMENTS, "k8s/nodes.json"],
    explains: &[],
    docs: include_str!("subset_finds_no_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind("DestinationRule") {
        let host = rule.spec_at(["host"]).and_then(Node::str).unwrap_or_default();
        let Some(service) = facts.mesh.service_of_host(&fqdn(host, &rule.id.namespace)) else { continue };
        for subset in rule.spec_list("subsets") {
            out.examined();
            let Some(labels) = subset.get("labels").filter(|labels| !labels.members().is_empty()) else { continue };
            if is_found(facts.mesh, &service.id.namespace, labels) {
                continue;
            }
            let name = subset.str_at("name").unwrap_or_default();
            let message =
                format!("subset {name} of {} selects {}, and no pod has these labels", rule.id, labels.to_json());
            out.find(rule.id.clone(), message, Evidence::of(rule, labels, "what the subset selects"))
                .fix(Fix::advice("give the subset labels that the pods have"));
        }
    }
}

/// Pods count with the labels of their nodes, and those that a Deployment would make count too.
fn is_found(mesh: &Mesh, namespace: &str, labels: &Node) -> bool {
    let of_pod = |pod: &Stored| {
        let node = pod.spec_at(["nodeName"]).and_then(Node::str).and_then(|name| mesh.objects.get("Node", "", name));
        labels.members().iter().all(|wanted| {
            let of_node =
                node.filter(|_| wanted.key.starts_with("topology.") || &*wanted.key == "kubernetes.io/hostname");
            let has = |object: &Stored| object.label(&wanted.key) == wanted.value.str();
            has(pod) || of_node.is_some_and(has)
        })
    };
    let template = |deployment: &Stored| has_labels(labels, deployment.spec_at(["template", "metadata", "labels"]));
    mesh.objects.in_namespace("Pod", namespace).any(of_pod)
        || mesh.objects.in_namespace("Deployment", namespace).any(template)
}
