//! See the page beside this file.

use super::outsider;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::injection::INJECTION;
use meshladder_text::tree::{Node, Value};

/// A namespace may well stay outside the mesh; one with policies for its pods was meant to be
/// inside.
pub(super) static RULE: Rule = Rule {
    code: "ML0315",
    name: "policy-without-proxy",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "every namespace that has policies for its pods has them injected",
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace, Kind::MutatingWebhook]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Service,
        Kind::ConfigMap,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
    ]),
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("policy_without_proxy.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for outsider in outsider::all(facts, &injectors, case) {
        out.examined();
        let decision = &outsider.injection.decided_by;
        let labels = injectors.namespace_labels(&outsider.pod.namespace);
        let asks = labels.is_some_and(|labels| labels.asks());
        let by_namespace = decision.object.id.is(Kind::Namespace) && !asks && outsider.is_refused();
        let own = |kind: Kind| {
            facts
                .mesh
                .objects
                .in_namespace(kind, &outsider.pod.namespace)
                .len()
        };
        let has_policies = own(Kind::AuthorizationPolicy) + own(Kind::RequestAuthentication) > 0;
        let severity = outsider.severity(facts, None);
        if !by_namespace || !has_policies || severity == Severity::Info {
            continue;
        }
        let namespace = &decision.object.id;
        if let Some(known) = out
            .findings
            .iter_mut()
            .find(|finding| finding.subject == *namespace)
        {
            known.hits(outsider.pod.reference());
            continue;
        }
        let message = format!(
            "{namespace} has policies for {}, which no proxy enforces: {}",
            outsider.name(),
            decision.what
        );
        let node: &Node = decision.node;
        let finding = out.find(
            namespace.clone(),
            message,
            Evidence::of(decision.object, node, decision.what.clone()),
        );
        outsider.finish(facts, case, finding);
        finding.fix(Fix::merge(
            namespace,
            Value::nested(["metadata", "labels", INJECTION], "enabled"),
        ));
        finding.fix(Fix::advice(
            "then restart the workloads of the namespace: injection happens when a pod is made",
        ));
    }
}
