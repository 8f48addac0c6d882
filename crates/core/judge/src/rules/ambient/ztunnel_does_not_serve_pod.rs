//! See the page beside this file.

use super::meets::{hit_ends, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part, Shape};
use meshladder_capture::ztunnel::dump::{ZtunnelDump, ZtunnelSection};
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::views::Pod;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML4004",
    name: "ztunnel-does-not-serve-pod",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every pod whose traffic is redirected is served by its node's ztunnel",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::DaemonSet,
        Kind::Namespace,
        Kind::ConfigMap,
        Kind::Service,
    ])
    .and(&[Part::Ztunnels]),
    explains: &[
        "ML06", "ML07", "ML08", "ML09", "ML10", "ML4001", "ML402", "ML403",
    ],
    docs: include_str!("ztunnel_does_not_serve_pod.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let redirected: Vec<&Object> = pods(facts, case)
        .into_iter()
        .filter(|(_, enrolment)| enrolment.redirection != Redirection::None)
        .map(|(pod, _)| pod)
        .collect();
    if redirected.is_empty() {
        return;
    }
    for id in facts.snapshot.ids() {
        let Some(ztunnel) = (id.shape() == Shape::ZtunnelDump)
            .then(|| id.ztunnel())
            .flatten()
        else {
            continue;
        };
        let Ok(document) = facts.snapshot.open(id) else {
            continue;
        };
        let Ok(dump) = ZtunnelDump::read(&document.text) else {
            continue;
        };
        for pod in &redirected {
            if Pod::of(pod)
                .node_name()
                .is_none_or(|node| *node != dump.node)
            {
                continue;
            }
            out.examined();
            let is_up = states(&dump, pod).is_none_or(|is_up| is_up);
            let is_pending = Redirection::of(pod) == Redirection::Pending;
            if is_up && !is_pending {
                continue;
            }
            let subject = facts.mesh.node_agent_set(NodeAgent::Ztunnel).map_or_else(
                || ObjectRef::of(Kind::Pod, &ztunnel.namespace, &ztunnel.pod),
                |set| set.id.clone(),
            );
            let message = format!(
                "{} is redirected, and ztunnel {ztunnel} does not serve it: its connections are refused",
                pod.id
            );
            let annotation = pod
                .node
                .at(["metadata", "annotations"])
                .unwrap_or(&pod.node);
            let finding = out.find(
                subject,
                message,
                Evidence::of(pod, annotation, "what the node's agent wrote of it"),
            );
            finding.see(Evidence::document(
                id,
                format!("workloadState lacks {} as Up", pod.id.name),
            ));
            finding.hits(pod.id.clone());
            if let Some(case) = case {
                hit_ends(finding, case);
            }
            finding.fix(Fix::advice("restart the ztunnel of that node; its version and istio-cni's may differ by one minor at most"));
        }
    }
}

/// Whether ztunnel serves a pod; none when its dump does not tell.
fn states(dump: &ZtunnelDump<'_>, pod: &Object) -> Option<bool> {
    let uid = pod.node.at(["metadata", "uid"]).and_then(Node::str)?;
    let state = dump.states.iter().find(|state| state.uid == uid);
    match state {
        Some(state) => Some(state.is_up),
        None if dump.has(ZtunnelSection::States) => Some(false),
        None => None,
    }
}
