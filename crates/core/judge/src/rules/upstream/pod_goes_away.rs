//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::accounts::{self, Side};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1010",
    name: "pod-goes-away-too-soon",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Warning,
    claim: "a pod that is being deleted answers until nobody calls it any more",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("pod_goes_away.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let failed = accounts::of(facts, case)
        .into_iter()
        .filter(|t| t.side == Side::Client && (t.has("UF") || t.has("UC")));
    for told in failed {
        let Some(pod) = told.line.and_then(|line| accounts::pod_called(facts, line)) else {
            continue;
        };
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        let Some(deleted) = stored.node.at(["metadata", "deletionTimestamp"]) else {
            continue;
        };
        let message = format!(
            "{} is being deleted and no longer answers, while callers still have it",
            stored.id
        );
        let finding = out.find(pod.workload(), message, told.proof);
        finding
            .see(Evidence::of(stored, deleted, "it is being deleted"))
            .hits(pod.reference());
        finding.confidence(Confidence::Likely);
        let containers = stored.spec_list("containers").iter();
        if !containers
            .clone()
            .any(|container| container.at(["lifecycle", "preStop"]).is_some())
        {
            let names: Vec<_> = containers
                .filter_map(|c| c.get("name").and_then(Node::str))
                .collect();
            finding.fix(Fix::advice(format!(
                "give the containers ({}) a preStop that waits a few seconds",
                names.join(", ")
            )));
        }
        finding.fix(Fix::advice(
            "retry on connect-failure, and let the proxy drain (terminationDrainDuration)",
        ));
        return;
    }
}
