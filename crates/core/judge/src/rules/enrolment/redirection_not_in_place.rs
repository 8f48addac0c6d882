//! See the page beside this file.

use super::container;
use crate::finding::{Evidence, Fix, Risk, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::shell;
use meshladder_text::tree::Node;

/// The label that the repair controller of istio-cni puts on a pod.
const BROKEN: &str = "cni.istio.io/uninitialized";
/// What istio-validation exits with when the redirection is not in place.
const VALIDATION_FAILED: u64 = 126;

pub(super) static RULE: Rule = Rule {
    code: "ML0309",
    name: "redirection-not-in-place",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "the traffic of every pod with a proxy is redirected to it",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[Kind::DaemonSet]),
    explains: &["ML06", "ML07", "ML08", "ML09", "ML10", "ML0313", "ML04"],
    docs: include_str!("redirection_not_in_place.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (pod, stored) in container::enrolled(facts) {
        out.examined();
        let Some((node, shows)) = sign(stored) else {
            continue;
        };
        let agent = cni_agent(facts, stored);
        let because = agent
            .map(|agent| format!(": {} is not ready on node {}", agent.id, node_of(stored)))
            .unwrap_or_default();
        let message = format!(
            "the traffic of {}/{} is not redirected to its proxy{because}",
            pod.namespace, pod.name
        );
        let subject: ObjectRef =
            agent.map_or_else(|| pod.workload(), |agent| pod_owner(facts, agent));
        let finding = out.find(subject, message, Evidence::of(stored, node, shows));
        if let Some(agent) = agent {
            finding.see(Evidence::object(agent, "the istio-cni of its node"));
        }
        finding.hits(pod.reference());
        let delete = shell::command("kubectl delete pod {} -n {}", &[&pod.name, &pod.namespace]);
        finding.fix(Fix::command(Risk::Disruptive, delete));
        finding.fix(Fix::look(shell::command("kubectl get pods -A -l k8s-app=istio-cni-node -o wide --field-selector spec.nodeName={}", &[node_of(stored)])));
    }
}

fn node_of(pod: &Object) -> &str {
    pod.spec_at(["nodeName"])
        .and_then(Node::str)
        .unwrap_or_default()
}

fn sign(pod: &Object) -> Option<(&Node, &'static str)> {
    let label = pod
        .node
        .at(["metadata", "labels", BROKEN])
        .filter(|label| label.str() != Some("false"));
    let validation = container::status(pod, "istio-validation").filter(|status| {
        let ends = [["state", "terminated"], ["lastState", "terminated"]];
        let exited = ends
            .iter()
            .filter_map(|path| status.at(*path))
            .any(|e| container::count(e, "exitCode") == VALIDATION_FAILED);
        exited && !container::is_true(status, "ready")
    });
    label
        .map(|node| (node, "istio-cni found it without redirection"))
        .or(validation.map(|node| (node, "istio-validation found no redirection")))
}

/// The agent of istio-cni on the pod's node, when it is not ready.
fn cni_agent<'f>(facts: &Facts<'f>, pod: &Object) -> Option<&'f Object> {
    let agents = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|agent| agent.label("k8s-app") == Some("istio-cni-node"));
    let mut here = agents.filter(|agent| node_of(agent) == node_of(pod));
    here.find(|agent| !meshladder_mesh::services::is_ready(agent))
}

fn pod_owner(facts: &Facts<'_>, pod: &Object) -> ObjectRef {
    facts
        .mesh
        .pod(&pod.id.namespace, &pod.id.name)
        .map_or_else(|| pod.id.clone(), PodFacts::workload)
}
