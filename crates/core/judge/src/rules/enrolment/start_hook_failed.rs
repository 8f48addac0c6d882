//! See the page beside this file.

use super::container;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::is_ready;
use meshladder_mesh::views::Event;
use meshladder_text::shell;

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
        let mut events = Event::in_namespace(&facts.mesh.objects, &pod.namespace);
        let event = events.find(|event| {
            let message = event.message();
            event.reason() == "FailedPostStartHook"
                && event.about() == pod.name
                && (message.contains("pilot-agent") || message.contains("istio-proxy"))
        });
        let Some(Event { object: event }) = event else {
            continue;
        };
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
