//! See the page beside this file.

use super::outsider;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0305",
    name: "host-network",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "no workload that policies are for is on the host network",
    needs: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook]),
    uses: super::outsider::USES,
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("host_network.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for (outsider, pods) in outsider::first_of_each(outsider::all(facts, &injectors, case)) {
        out.examined();
        let labels = injectors.namespace_labels(&outsider.pod.namespace);
        let asks =
            labels.is_some_and(|labels| labels.injection.is_some() || labels.revision.is_some());
        let node = outsider.injection.decided_by.node;
        let is_host_network = node.value == Value::Bool(true);
        if !asks || !is_host_network || !outsider.is_refused() {
            continue;
        }
        let workload = outsider.pod.workload();
        let message = format!("{workload} is on the host network, where no proxy can be injected");
        let object = outsider.injection.decided_by.object;
        let finding = out.find(
            workload,
            message,
            Evidence::of(object, node, "this keeps the proxy out"),
        );
        finding.severity(outsider.severity(facts, case));
        outsider.finish(facts, case, finding);
        finding.hits.extend(pods.into_iter().skip(1));
        finding.fix(Fix::advice(
            "take it off the host network, or put a gateway in front of it",
        ));
    }
}
