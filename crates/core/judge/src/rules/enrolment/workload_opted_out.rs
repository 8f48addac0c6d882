//! See the page beside this file.

use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ObjectRef;
use meshladder_mesh::injection::INJECT;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0302",
    name: "workload-opted-out",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "no workload that policies are for has opted out of injection",
    needs: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook]),
    uses: super::outsider::USES,
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("workload_opted_out.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let outsiders = outsider::all(facts, &injectors, case);
    out.examined += outsiders.len();
    for (outsider, pods) in outsider::first_of_each(outsiders) {
        let labels = injectors.namespace_labels(&outsider.pod.namespace);
        let is_injected = labels.is_some_and(|labels| {
            labels
                .injection
                .is_some_and(|label| label.str() == Some("enabled"))
                || labels.revision_is_provided
        });
        if is_injected && outsider.is_refused() && outsider.asks() == Some("false") {
            tell(facts, case, &outsider, pods, out);
        }
    }
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    outsider: &Outsider<'_>,
    pods: Vec<ObjectRef>,
    out: &mut Sink,
) {
    let Some((kind, node)) = outsider.template.inject() else {
        return;
    };
    let severity = outsider.severity(facts, case);
    let harm = match severity {
        Severity::Error | Severity::Warning => {
            "nothing enforces policies for it or encrypts its calls"
        }
        Severity::Info => "it is not in the mesh",
    };
    let workload = outsider.pod.workload();
    let message =
        format!("{workload} has {kind} {INJECT}=false, so its pods have no proxy and {harm}");
    let object = outsider.template.object;
    let finding = out.find(
        workload.clone(),
        message,
        Evidence::of(object, node, "this keeps the proxy out"),
    );
    finding.severity(severity);
    outsider.finish(facts, case, finding);
    finding.hits.extend(pods.into_iter().skip(1));
    if object.id == workload && !workload.is(Kind::Pod) {
        let field = if kind == "label" {
            "labels"
        } else {
            "annotations"
        };
        let path = ["spec", "template", "metadata", field, INJECT];
        let patch = Value::nested(path, Value::Null);
        finding.fix(Fix::merge(&workload, patch));
    }
}
