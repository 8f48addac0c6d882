//! See the page beside this file.

use super::outsider;
use crate::finding::{Evidence, Fix, Risk, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::shell;
use meshladder_text::tri::Tri;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0307",
    name: "pod-older-than-injection",
    aka: &["IST0103"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "a pod that would get a proxy has one",
    needs: Inputs::of(&[Kind::Pod, Kind::MutatingWebhook]),
    uses: super::outsider::USES,
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("pod_older_than_injection.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for (outsider, pods) in outsider::first_of_each(outsider::all(facts, &injectors, case)) {
        out.examined();
        if !outsider.is_expected() {
            continue;
        }
        let workload = outsider.pod.workload();
        // A webhook that fails open lets pods through without a proxy while istiod does not answer.
        let hooks = outsider
            .injection
            .candidates
            .iter()
            .filter(|candidate| candidate.selects == Tri::Yes);
        let fails_open = hooks
            .into_iter()
            .any(|candidate| !candidate.injector.fails_closed());
        let or = if fails_open {
            ", or while the webhook, which fails open, did not answer"
        } else {
            ""
        };
        let message = format!(
            "the pods of {} have no proxy, though they would get one today: they were made before injection was on{or}",
            outsider.name()
        );
        let decision = &outsider.injection.decided_by;
        let finding = out.find(
            workload.clone(),
            message,
            Evidence::of(decision.object, decision.node, decision.what.clone()),
        );
        outsider.finish(facts, case, finding);
        finding.hits.extend(pods.into_iter().skip(1));
        let kind = workload.kind.to_lowercase();
        let restart = shell::command(
            "kubectl rollout restart {}/{} -n {}",
            &[&kind, &workload.name, &workload.namespace],
        );
        finding.fix(Fix::command(Risk::Disruptive, restart));
    }
}
