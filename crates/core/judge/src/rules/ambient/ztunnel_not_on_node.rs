//! See the page beside this file.

use std::collections::BTreeMap;

use super::meets::{DAMAGE, hit_ends, ztunnel_set};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::Object;
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::views::Pod;

pub(super) static RULE: Rule = Rule {
    code: "ML4003",
    name: "ztunnel-not-on-node",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every node with captured pods has a ztunnel that runs",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[Kind::DaemonSet, Kind::Service, Kind::Node]),
    explains: DAMAGE,
    docs: include_str!("ztunnel_not_on_node.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mut nodes: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for pod in Pod::all(&facts.mesh.objects).filter(|pod| pod.is_running()) {
        let Some(node) = pod.node_name() else {
            continue;
        };
        if Redirection::of(pod.object) != Redirection::None && !pod.has_proxy() {
            nodes.entry(node.value).or_default().push(pod.object);
        }
    }
    for (node, captured) in nodes {
        out.examined();
        let ztunnel = facts.mesh.node_agent(NodeAgent::Ztunnel, node);
        if ztunnel.is_some_and(|pod| serves(facts, pod, node)) {
            continue;
        }
        let is_asked = |pod: &&&Object| {
            case.is_none_or(|case| {
                let mut ends = case.client.iter().chain(&case.servers);
                ends.any(|end| end.reference() == pod.id)
            })
        };
        if !captured.iter().any(|pod| is_asked(&pod)) {
            continue;
        }
        let set = facts.mesh.node_agent_set(NodeAgent::Ztunnel);
        let subject = ztunnel_set(facts);
        let what = if ztunnel.is_some() {
            "is ready"
        } else {
            "runs"
        };
        let message = format!(
            "no ztunnel {what} on {node}, and the traffic of {} pods there is redirected to it: they can neither be reached nor call out",
            captured.len()
        );
        let of_pod = || Evidence::object(captured[0], format!("it runs on {node}, redirected"));
        let proof = match (ztunnel, set) {
            (Some(pod), _) => {
                let status = pod.object.node.get("status").unwrap_or(&pod.object.node);
                Evidence::of(pod.object, status, format!("the ztunnel of {node}"))
            }
            (None, Some(set)) => {
                let part = set.spec_at(["template", "spec", "nodeSelector"]);
                let part = part.or_else(|| set.node.get("status")).unwrap_or(&set.node);
                Evidence::of(
                    set,
                    part,
                    format!("where its pods may run; none is on {node}"),
                )
            }
            (None, None) => of_pod(),
        };
        let finding = out.find(subject, message, proof);
        finding.see(of_pod());
        for pod in &captured {
            finding.hits(pod.id.clone());
            for service in facts.mesh.services_of(pod) {
                finding.hits(service.id.clone());
            }
        }
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice("let the DaemonSet run on that node again"));
    }
}

/// Whether a ztunnel serves the pods of its node. One that waits for the node's agent is not ready,
/// and serves those that it has; so does one that answered when it was asked.
fn serves(facts: &Facts<'_>, pod: Pod<'_>, node: &str) -> bool {
    let has_agent = facts
        .mesh
        .node_agent(NodeAgent::Cni, node)
        .is_none_or(Pod::is_ready);
    let answered = || {
        let mut ids = facts.snapshot.ids().filter_map(DocId::ztunnel);
        ids.any(|own| own.is_of(pod.namespace(), pod.name()))
    };
    pod.is_ready() || pod.is_running() && (!has_agent || answered())
}
