//! See the page beside this file.

use super::outsider;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::ObjectRef;
use crate::mesh::injection::INJECTION;
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0306",
    name: "inject-label-ignored",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a pod that asks for a proxy gets one",
    needs: &["k8s/pods.json", "k8s/mutatingwebhookconfigurations.admissionregistration.k8s.io.json"],
    uses: super::outsider::USES,
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("inject_label_ignored.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for (outsider, pods) in outsider::first_of_each(outsider::all(facts, &injectors, asked)) {
        out.examined();
        let decision = &outsider.injection.decided_by;
        if !outsider.is_refused() || outsider.asks() != Some("true") || decision.object.id.kind == "Namespace" {
            continue;
        }
        let workload = outsider.pod.workload();
        let message = format!("{workload} asks for a proxy and gets none: {}", decision.what);
        let finding = out.find(workload, message, Evidence::of(decision.object, decision.node, decision.what.clone()));
        outsider.finish(facts, asked, finding);
        finding.hits.extend(pods.into_iter().skip(1));
        let namespace = ObjectRef::new("Namespace", "", &outsider.pod.namespace);
        finding.fix(Fix::merge(&namespace, format!(r#"{{"metadata":{{"labels":{{"{INJECTION}":"enabled"}}}}}}"#)));
    }
}
