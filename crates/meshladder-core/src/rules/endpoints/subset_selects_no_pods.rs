//! See the page beside this file.

use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::{ObjectRef, PodFacts, ServiceFacts, Stored};
use crate::model::selector;
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0701",
    name: "subset-selects-no-pods",
    aka: &["IST0173", "KIA0203"],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every subset that a DestinationRule defines selects a pod",
    needs: &["k8s/destinationrules.networking.istio.io.json", "k8s/services.json", "k8s/pods.json"],
    uses: &["k8s/workloadentries.networking.istio.io.json"],
    explains: &[],
    docs: include_str!("subset_selects_no_pods.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    // Endpoints may also be WorkloadEntries, whose labels are not pods'.
    if !facts.mesh.objects.of_kind("WorkloadEntry").is_empty() {
        return;
    }
    for rule in facts.mesh.objects.of_kind("DestinationRule") {
        let host = rule.spec_at(["host"]).and_then(Node::str).unwrap_or_default();
        let Some(service) = facts.mesh.service_named(host, &rule.id.namespace) else { continue };
        for subset in rule.spec_list("subsets") {
            let name = subset.str_at("name").unwrap_or_default();
            if asked.is_none_or(|asked| meets(asked, service, name)) {
                out.examined();
                subset_of(facts, rule, service, subset, out);
            }
        }
    }
}

/// Whether the request may be sent to the subset.
fn meets(asked: &Asked<'_>, service: &ServiceFacts, subset: &str) -> bool {
    let host = format!("{}.{}.svc.cluster.local", service.name, service.namespace);
    asked.clusters().any(|cluster| cluster.ends_with(&format!("|{subset}|{host}")))
}

fn subset_of(facts: &Facts<'_>, rule: &Stored, service: &ServiceFacts, subset: &Node, out: &mut Sink) {
    let pods: Vec<&PodFacts> = facts.mesh.pods_of(service).collect();
    let Some(labels) = subset.get("labels") else { return };
    let has = |pod: &PodFacts| {
        let stored = facts.mesh.objects.get("Pod", &pod.namespace, &pod.name);
        selector::has_labels(labels, stored.and_then(Stored::labels))
    };
    // A Service without any pod is another matter.
    if pods.is_empty() || pods.iter().any(|pod| has(pod)) {
        return;
    }
    let name = subset.str_at("name").unwrap_or_default();
    let wanted: Vec<String> =
        labels.members().iter().map(|m| format!("{}={}", m.key, m.value.str().unwrap_or_default())).collect();
    let message = format!(
        "subset {name} of {} wants pods labelled {}, and none of the {} pods of Service {}/{} is",
        rule.id,
        wanted.join(","),
        pods.len(),
        service.namespace,
        service.name
    );
    let finding = out.find(rule.id.clone(), message, Evidence::of(rule, labels, format!("what subset {name} selects")));
    finding.hits(ObjectRef::new("Service", &service.namespace, &service.name));
    for pod in &pods {
        if let Some(stored) = facts.mesh.objects.get("Pod", &pod.namespace, &pod.name) {
            let labels = stored.labels().unwrap_or(&stored.node);
            finding.see(Evidence::of(stored, labels, format!("the labels that {} has", stored.id)));
        }
    }
    finding.fix(Fix::advice(format!("make the labels of subset {name} equal to those of the pods it is meant for")));
}
