//! See the page beside this file.

use super::container::{self, PROXY};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::views::PodTemplate;
use meshladder_text::time::Time;
use meshladder_text::tree::{Node, Value};

/// What ended longer ago than a day does nobody harm now.
const RECENT: i64 = 86_400;

pub(super) static RULE: Rule = Rule {
    code: "ML0310",
    name: "proxy-out-of-memory",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no proxy was killed for want of memory",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML0313", "ML10"],
    docs: include_str!("proxy_out_of_memory.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (pod, stored) in container::enrolled(facts) {
        out.examined();
        let Some(status) = container::status(stored, PROXY) else {
            continue;
        };
        let ends = [["state", "terminated"], ["lastState", "terminated"]];
        let killed = ends
            .iter()
            .filter_map(|path| status.at(*path))
            .find(|end| end.str_at("reason") == Some("OOMKilled"));
        let Some(killed) = killed else { continue };
        let limit = limit(stored)
            .map(|limit| format!(" at its limit of {limit}"))
            .unwrap_or_default();
        let restarts = container::count(status, "restartCount");
        let workload = pod.workload();
        let message = format!(
            "the proxy of {}/{} was killed for want of memory{limit}, {restarts} restarts so far; its calls fail each time",
            pod.namespace, pod.name
        );
        let finding = out.find(
            workload.clone(),
            message,
            Evidence::of(stored, killed, "how the proxy ended"),
        );
        finding.hits(pod.reference());
        let ended = killed
            .get("finishedAt")
            .and_then(Node::str)
            .and_then(Time::parse);
        if ended
            .zip(facts.snapshot.taken_at())
            .is_some_and(|(ended, now)| now.seconds_since(ended) > RECENT)
        {
            finding.severity(Severity::Info);
        }
        if facts
            .mesh
            .objects
            .find(&workload)
            .and_then(PodTemplate::of)
            .is_some()
            && !workload.is(Kind::Pod)
        {
            let annotation = "sidecar.istio.io/proxyMemoryLimit";
            let path = ["spec", "template", "metadata", "annotations", annotation];
            let patch = Value::nested(path, "1Gi");
            finding.fix(
                Fix::merge(&workload, patch).unchecked("how much the proxy needs, no object tells"),
            );
        }
        finding.fix(Fix::advice(
            "a Sidecar that imports only what the workload calls makes the proxy smaller",
        ));
    }
}

fn limit(pod: &meshladder_mesh::Object) -> Option<&str> {
    let containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|key| pod.spec_list(key));
    let mut proxies = containers.filter(|container| container.str_at("name") == Some(PROXY));
    proxies.find_map(|container| {
        container
            .at(["resources", "limits", "memory"])
            .and_then(Node::str)
    })
}
