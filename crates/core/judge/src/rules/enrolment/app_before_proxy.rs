//! See the page beside this file.

use super::container::{self, PROXY};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::is_ready;
use meshladder_text::shell;
use meshladder_text::time::Time;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0311",
    name: "app-before-proxy",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no application ends because its proxy was not up yet",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML07"],
    docs: include_str!("app_before_proxy.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (pod, stored) in container::enrolled(facts) {
        out.examined();
        // Both see to it that the proxy is up first.
        if container::is_native(stored) || holds(stored) {
            continue;
        }
        let Some((name, end)) = failed_at_start(stored) else {
            continue;
        };
        let workload = pod.workload();
        let message = format!(
            "container {name} of {}/{} ended while its proxy was still starting",
            pod.namespace, pod.name
        );
        let finding = out.find(
            workload.clone(),
            message,
            Evidence::of(stored, end, "how it ended"),
        );
        finding
            .confidence(Confidence::Possible)
            .hits(pod.reference());
        if is_ready(stored) {
            finding.severity(Severity::Info);
        }
        let annotation = Value::nested(
            [
                "spec",
                "template",
                "metadata",
                "annotations",
                "proxy.istio.io/config",
            ],
            "holdApplicationUntilProxyStarts: true",
        );
        if !workload.is(Kind::Pod) {
            finding.fix(
                Fix::merge(&workload, annotation).unchecked("it shows when the pod is made again"),
            );
        }
        finding.fix(Fix::look(shell::command(
            "kubectl logs {} -n {} -c {} --previous",
            &[&pod.name, &pod.namespace, name],
        )));
    }
}

/// `holdApplicationUntilProxyStarts` puts the proxy first, with a hook that waits.
fn holds(pod: &Object) -> bool {
    let first = pod.spec_list("containers").first();
    first.is_some_and(|container| {
        container.str_at("name") == Some(PROXY)
            && container.at(["lifecycle", "postStart"]).is_some()
    })
}

/// A container that ended with an error within seconds of the proxy's start.
fn failed_at_start(pod: &Object) -> Option<(&str, &Node)> {
    const STARTING: i64 = 15;
    let time = |node: Option<&Node>| node.and_then(Node::str).and_then(Time::parse);
    let proxy = time(container::status(pod, PROXY)?.at(["state", "running", "startedAt"]))?;
    let apps = container::statuses(pod).filter(|status| status.str_at("name") != Some(PROXY));
    let mut ended = apps.filter_map(|status| {
        Some((
            status.str_at("name")?,
            status.at(["lastState", "terminated"])?,
        ))
    });
    ended.find(|(_, end)| {
        let finished = time(end.get("finishedAt"));
        container::count(end, "exitCode") != 0
            && finished.is_some_and(|finished| finished.seconds_since(proxy) < STARTING)
    })
}
