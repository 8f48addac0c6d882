//! See the page beside this file.

use super::container;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::is_ready;
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0312",
    name: "start-hook-failed",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every proxy is up in time for its start hook",
    needs: Inputs::of(&[Kind::Pod, Kind::Event]),
    uses: Inputs::NONE,
    explains: &["ML07", "ML10"],
    docs: include_str!("start_hook_failed.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (pod, _) in container::enrolled(facts).filter(|(_, stored)| !is_ready(stored)) {
        out.examined();
        let mut events = facts.mesh.objects.in_namespace(Kind::Event, &pod.namespace);
        let event = events.find(|event| {
            let about = event
                .node
                .at(["involvedObject", "name"])
                .and_then(Node::str);
            let message = event.node.str_at("message").unwrap_or_default();
            event.node.str_at("reason") == Some("FailedPostStartHook")
                && about == Some(&pod.name)
                && (message.contains("pilot-agent") || message.contains("istio-proxy"))
        });
        let Some(event) = event else { continue };
        let message = format!(
            "{}/{} does not start: its proxy is not ready when the start hook gives up waiting for it",
            pod.namespace, pod.name
        );
        let text = event.node.get("message").unwrap_or(&event.node);
        let finding = out.find(
            pod.workload(),
            message,
            Evidence::of(event, text, "what the kubelet said"),
        );
        finding.hits(pod.reference());
        finding.fix(Fix::look(shell::command(
            "kubectl logs {} -n {} -c istio-proxy",
            &[&pod.name, &pod.namespace],
        )));
    }
}
