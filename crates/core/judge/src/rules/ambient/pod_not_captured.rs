//! See the page beside this file.

use super::meets::{hit_ends, pods};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::views::Pod;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML4008",
    name: "pod-not-captured",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every pod that should be in ambient mode is captured",
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[Kind::DaemonSet, Kind::ConfigMap, Kind::Service]),
    explains: &[
        "ML03", "ML06", "ML07", "ML08", "ML09", "ML10", "ML402", "ML403",
    ],
    docs: include_str!("pod_not_captured.md"),
    check: Check::Either(check),
};

/// The key of istio-cni's configuration that switches it on.
const ENABLED: &str = "AMBIENT_ENABLED";

/// A pod that was just started may not have been captured yet.
const START: i64 = 10;

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for (pod, enrolment) in pods(facts, case) {
        let view = Pod::of(pod);
        let Some(node) = view.node_name().filter(|_| enrolment.is_wanted) else {
            continue;
        };
        out.examined();
        let is_missed = view.is_running() && enrolment.redirection == Redirection::None;
        // Without an agent there is another rule.
        let agent = facts.mesh.node_agent(NodeAgent::Cni, node.value);
        if !is_missed || !agent.is_some_and(Pod::is_ready) || is_young(facts, pod) {
            continue;
        }
        let config = facts.mesh.cni_config();
        let switch = config.and_then(|map| Some((map.object, map.data(ENABLED)?)));
        let off = switch.filter(|(_, value)| value.value == "false");
        let (subject, why, proof) = if let Some((map, value)) = off {
            (
                map.id.clone(),
                format!("{ENABLED} is false there"),
                Evidence::of(map, value.node, "istio-cni leaves ambient pods alone"),
            )
        } else {
            let set = facts.mesh.node_agent_set(NodeAgent::Cni);
            let subject = set.map_or_else(
                || ObjectRef::of(Kind::DaemonSet, "istio-system", "istio-cni-node"),
                |set| set.id.clone(),
            );
            let (by, label) = enrolment.decided_by;
            let why = format!("the agent on {node} has not taken it");
            (subject, why, Evidence::of(by, label, "what asks for it"))
        };
        if let Some(known) = out
            .findings
            .iter_mut()
            .find(|finding| finding.subject == subject)
        {
            known.hits(pod.id.clone());
            continue;
        }
        let message = format!("{} should be captured and is not: {why}", pod.id);
        let finding = out.find(subject, message, proof);
        let annotations = pod
            .node
            .at(["metadata", "annotations"])
            .unwrap_or(&pod.node);
        finding.see(Evidence::of(
            pod,
            annotations,
            "ambient.istio.io/redirection is not here",
        ));
        finding.hits(pod.id.clone());
        for service in facts.mesh.services_of(pod) {
            finding.hits(service.id.clone());
        }
        if off.is_none() {
            finding.confidence(Confidence::Likely);
        }
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice(
            "read the agent's log on that node (`Failed capturing pod`), and restart the pod",
        ));
    }
}

fn is_young(facts: &Facts<'_>, pod: &Object) -> bool {
    let started = pod.node.at(["status", "startTime"]).and_then(Node::str);
    let started = started.and_then(meshladder_text::time::Time::parse);
    let now = facts.snapshot.taken_at();
    now.zip(started)
        .is_some_and(|(now, started)| now.seconds_since(started) < START)
}
