//! See the page beside this file.

use super::container::{self, PROXY};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

mod objects;

/// The proxy's own traffic is not redirected to the proxy, and it is told by its user.
const UID: &str = "1337";

pub(super) static RULE: Rule = Rule {
    code: "ML0308",
    name: "app-runs-as-proxy-user",
    aka: &["IST0144"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no application runs as the proxy's user",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("app_runs_as_proxy_user.md"),
    check: Check::Wide(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, out),
    }
}

fn by_traffic(facts: &Facts<'_>, out: &mut Sink) {
    let mut told = Vec::new();
    for (pod, stored) in container::enrolled(facts) {
        out.examined();
        let workload = facts.mesh.workload_of(stored);
        let spec = workload
            .and_then(|workload| workload.spec_at(["template", "spec"]))
            .or(stored.spec());
        let Some((name, node)) = spec.and_then(offender) else {
            continue;
        };
        let subject = pod.workload();
        if told.contains(&subject) {
            continue;
        }
        told.push(subject.clone());
        let object: &Object = workload.unwrap_or(stored);
        let message = format!(
            "container {name} of {subject} runs as user {UID}, so its traffic bypasses the proxy"
        );
        let finding = out.find(
            subject,
            message,
            Evidence::of(object, node, "the proxy's own user"),
        );
        finding.hits(pod.reference());
        finding.fix(Fix::advice(format!("run container {name} as another user")));
    }
}

/// The first container of the application that runs as the proxy's user, by itself or by the pod's
/// default.
fn offender(spec: &Node) -> Option<(&str, &Node)> {
    let user = |node: &'_ Node| node.to_json() == UID;
    let default = spec
        .at(["securityContext", "runAsUser"])
        .filter(|node| user(node));
    let containers = spec.get("containers").map_or(&[][..], Node::items).iter();
    let mut apps = containers.filter(|container| container.str_at("name") != Some(PROXY));
    apps.find_map(|container| {
        let own = container.at(["securityContext", "runAsUser"]);
        let node = own.map_or(default, |own| Some(own).filter(|node| user(node)))?;
        Some((container.str_at("name")?, node))
    })
}
