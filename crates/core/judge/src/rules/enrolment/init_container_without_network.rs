//! See the page beside this file.

use super::container::{self, PROXY};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0314",
    name: "init-container-without-network",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no init container waits for a proxy that starts after it",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML07"],
    docs: include_str!("init_container_without_network.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (pod, stored) in container::enrolled(facts)
        .filter(|(pod, stored)| !pod.running && !container::is_native(stored))
    {
        out.examined();
        let Some((name, status)) = stuck(stored) else {
            continue;
        };
        let message = format!(
            "init container {name} of {}/{} runs after traffic was redirected to a proxy that starts only after it",
            pod.namespace, pod.name
        );
        let finding = out.find(
            pod.workload(),
            message,
            Evidence::of(stored, status, "it does not come to an end"),
        );
        finding.confidence(Confidence::Likely).hits(pod.reference());
        finding.fix(Fix::advice(
            "run the proxy as a native sidecar, or exclude the ports that the init container calls",
        ));
    }
}

/// An init container behind the one that sets up redirection that has not ended and is not the
/// proxy's own user.
fn stuck(pod: &Object) -> Option<(&str, &Node)> {
    let containers = pod.spec_list("initContainers");
    let named = |container: &Node, names: &[&str]| {
        container
            .str_at("name")
            .is_some_and(|name| names.contains(&name))
    };
    let redirected = containers
        .iter()
        .position(|container| named(container, &["istio-init", "istio-validation"]))?;
    let after = containers[redirected + 1..]
        .iter()
        .filter(|container| !named(container, &["istio-init", "istio-validation", PROXY]));
    let mut bypassing = after.filter(|c| {
        c.at(["securityContext", "runAsUser"])
            .is_none_or(|user| user.to_json() != "1337")
    });
    bypassing.find_map(|container| {
        let name = container.str_at("name")?;
        let status = container::status(pod, name)?;
        let is_running = status.at(["state", "running"]).is_some();
        let is_failing = status
            .at(["state", "waiting", "reason"])
            .and_then(Node::str)
            == Some("CrashLoopBackOff");
        (is_running || is_failing).then_some((name, status))
    })
}
