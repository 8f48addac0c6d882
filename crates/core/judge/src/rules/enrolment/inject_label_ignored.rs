//! See the page beside this file.

use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ObjectRef;
use meshladder_mesh::injection::{INJECTION, Injectors, REVISION};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0306",
    name: "inject-label-ignored",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a pod that asks for a proxy gets one",
    needs: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook]),
    uses: super::outsider::USES,
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("inject_label_ignored.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for (outsider, pods) in outsider::first_of_each(outsider::all(facts, &injectors, case)) {
        out.examined();
        if tell_revision(facts, &injectors, case, &outsider, &pods, out) {
            continue;
        }
        let decision = &outsider.injection.decided_by;
        if !outsider.is_refused()
            || outsider.asks() != Some("true")
            || decision.object.id.is(Kind::Namespace)
        {
            continue;
        }
        let workload = outsider.pod.workload();
        let message = format!(
            "{workload} asks for a proxy and gets none: {}",
            decision.what
        );
        let finding = out.find(
            workload,
            message,
            Evidence::of(decision.object, decision.node, decision.what.clone()),
        );
        outsider.finish(facts, case, finding);
        finding.hits.extend(pods.into_iter().skip(1));
        let namespace = ObjectRef::of(Kind::Namespace, "", &outsider.pod.namespace);
        finding.fix(Fix::merge(
            &namespace,
            Value::nested(["metadata", "labels", INJECTION], "enabled"),
        ));
    }
}

/// A workload that names a revision which no webhook selects: whether it is one, and told.
fn tell_revision(
    facts: &Facts<'_>,
    injectors: &Injectors<'_>,
    case: Option<&Case<'_>>,
    outsider: &Outsider<'_>,
    pods: &[ObjectRef],
    out: &mut Sink,
) -> bool {
    let maker = outsider.template.object;
    let of_template = maker.spec_at(["template", "metadata", "labels", REVISION]);
    let Some(label) = of_template.or_else(|| maker.node.at(["metadata", "labels", REVISION]))
    else {
        return false;
    };
    let known = injectors.revisions();
    let named = label.str().unwrap_or_default();
    // What the namespace says comes first, and has rules of its own.
    let namespace = injectors.namespace_labels(&outsider.pod.namespace);
    let is_asked_elsewhere =
        namespace.is_some_and(|labels| labels.injection.is_some() || labels.revision.is_some());
    if !outsider.is_refused() || known.is_empty() || known.contains(named) || is_asked_elsewhere {
        return false;
    }
    let workload = outsider.pod.workload();
    let there: Vec<&str> = known.into_iter().collect();
    let message = format!(
        "{workload} asks for a proxy of revision {named}, which no webhook selects; there are {}, so it has none",
        there.join(", ")
    );
    let finding = out.find(
        workload.clone(),
        message,
        Evidence::of(maker, label, "no webhook selects this"),
    );
    outsider.finish(facts, case, finding);
    finding.hits.extend(pods.iter().skip(1).cloned());
    if let ([only], true) = (there.as_slice(), of_template.and_then(Node::str).is_some()) {
        let path = ["spec", "template", "metadata", "labels", REVISION];
        finding.fix(Fix::merge(&workload, Value::nested(path, *only)));
    }
    true
}
