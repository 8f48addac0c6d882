//! See the page beside this file.

use std::collections::BTreeMap;

use super::meets::pods;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::views::{Event, Pod};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML4002",
    name: "agent-not-on-node",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every node with ambient pods has an istio-cni agent that runs",
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::DaemonSet,
        Kind::ConfigMap,
        Kind::Event,
        Kind::Node,
        Kind::Service,
    ]),
    explains: AGENT_DAMAGE,
    docs: include_str!("agent_not_on_node.md"),
    check: Check::Either(check),
};

const AGENT_DAMAGE: &[&str] = &[
    "ML03", "ML06", "ML07", "ML08", "ML09", "ML10", "ML4001", "ML4004", "ML402", "ML403",
];

/// What kubelet tells of a pod whose sandbox the plugin could not make.
const REFUSED: [&str; 2] = ["istio-cni", "istio CNI"];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if !facts.mesh.has_ambient() {
        return;
    }
    let mut nodes: BTreeMap<String, Vec<(&Object, Option<&Object>)>> = BTreeMap::new();
    let mut later: BTreeMap<String, Vec<(&Object, Option<&Object>)>> = BTreeMap::new();
    for (pod, enrolment) in pods(facts, case) {
        let Some(node) = Pod::of(pod).node_name() else {
            continue;
        };
        let event = refused(facts, pod);
        if !enrolment.is_wanted && event.is_none() {
            continue;
        }
        out.examined();
        let has_agent = facts
            .mesh
            .node_agent(NodeAgent::Cni, node.value)
            .is_some_and(Pod::is_ready);
        let is_missed = Pod::of(pod).is_running() && enrolment.redirection == Redirection::None;
        let missed = if is_missed || event.is_some() {
            &mut nodes
        } else {
            &mut later
        };
        if !has_agent {
            missed
                .entry(node.to_string())
                .or_default()
                .push((pod, event));
        }
    }
    // Where nobody is missed yet, the next pod will be: no request suffers.
    let is_harmless = nodes.is_empty();
    let nodes = if is_harmless && case.is_none() {
        later
    } else {
        nodes
    };
    let Some((first, missed)) = nodes.iter().next() else {
        return;
    };
    let (pod, event) = missed[0];
    let set = facts.mesh.node_agent_set(NodeAgent::Cni);
    let agent = facts.mesh.node_agent(NodeAgent::Cni, first);
    let names: Vec<&str> = nodes.keys().map(String::as_str).collect();
    let subject = match (set, agent) {
        (Some(set), _) => set.id.clone(),
        (None, Some(agent)) => agent.object.id.clone(),
        (None, None) => ObjectRef::of(Kind::DaemonSet, "istio-system", "istio-cni-node"),
    };
    let what = if is_harmless {
        "the next pod there will not be captured".to_owned()
    } else if event.is_some() {
        format!(
            "{} cannot be started: its plugin gets no answer there",
            pod.id
        )
    } else {
        format!("{} is not captured and sends plain text", pod.id)
    };
    let message = format!(
        "no istio-cni agent is ready on {}, so {what}",
        names.join(", ")
    );
    let agent_proof = agent.map(|agent| {
        let status = agent
            .object
            .node
            .get("status")
            .unwrap_or(&agent.object.node);
        Evidence::of(
            agent.object,
            status,
            format!("the agent on {first} is not ready"),
        )
    });
    let proof = set.map(|set| selection(set, first)).or(agent_proof.clone());
    let pod_proof = Evidence::object(pod, format!("it is on {first}"));
    let finding = out.find(subject, message, proof.unwrap_or_else(|| pod_proof.clone()));
    finding.see(pod_proof);
    if let Some(proof) = agent_proof {
        finding.see(proof);
    }
    if let Some(event) = event {
        let node = event.node.get("message").unwrap_or(&event.node);
        finding.see(Evidence::of(
            event,
            node,
            "kubelet could not create the pod's sandbox",
        ));
    }
    for (pod, _) in nodes.values().flatten() {
        finding.hits(pod.id.clone());
        for service in facts.mesh.services_of(pod) {
            finding.hits(service.id.clone());
        }
    }
    if let Some(case) = case {
        super::meets::hit_ends(finding, case);
    }
    if is_harmless {
        finding.severity(Severity::Warning);
    }
    finding.fix(Fix::advice(
        "bring the agent back on that node; it captures running pods when it starts",
    ));
}

/// What keeps the agents from a node, as far as their DaemonSet tells.
fn selection(set: &Object, node: &str) -> Evidence {
    let selector = set.spec_at(["template", "spec", "nodeSelector"]);
    let affinity = set.spec_at(["template", "spec", "affinity"]);
    let part = selector
        .filter(|selector| selector.members().len() > 1)
        .or(affinity)
        .or_else(|| set.node.get("status"));
    let part: &Node = part.unwrap_or(&set.node);
    Evidence::of(
        set,
        part,
        format!("where its pods may run; none is ready on {node}"),
    )
}

/// The event of a pod that the plugin did not let start.
fn refused<'f>(facts: &Facts<'f>, pod: &Object) -> Option<&'f Object> {
    if Pod::of(pod).is_running() {
        return None;
    }
    let mut events = Event::in_namespace(&facts.mesh.objects, &pod.id.namespace);
    let event = events.find(|event| {
        event.about() == pod.id.name
            && event.reason() == "FailedCreatePodSandBox"
            && REFUSED.iter().any(|word| event.message().contains(word))
    })?;
    Some(event.object)
}
