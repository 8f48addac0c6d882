//! See the page beside this file.

use super::meets::{got_through, hit_ends, pods, workload_of};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::ambient::AmbientReason;
use meshladder_mesh::policies::{Workload, selector};

pub(super) static RULE: Rule = Rule {
    code: "ML4009",
    name: "policy-for-uncaptured-pod",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no pod of an ambient namespace that policies are for stays outside",
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[Kind::AuthorizationPolicy, Kind::ConfigMap, Kind::Service]),
    explains: &["ML06", "ML08", "ML09", "ML10", "ML402"],
    docs: include_str!("policy_for_uncaptured_pod.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if case.is_some_and(|case| !got_through(case)) {
        return;
    }
    for (pod, enrolment) in pods(facts, case) {
        let keeps_out = match enrolment.reason {
            AmbientReason::OptedOut => "its label istio.io/dataplane-mode: none keeps it out",
            AmbientReason::HostNetwork if facts.mesh.is_of_ambient(pod) => {
                "it is on the host's network, which cannot be redirected"
            }
            _ => continue,
        };
        out.examined();
        let is_client = case.is_some_and(|case| {
            case.client
                .is_some_and(|client| client.reference() == pod.id)
        });
        let policies = facts
            .mesh
            .policies(Kind::AuthorizationPolicy, &Workload::of(pod));
        let by_label = |policy: &&&Object| selector(policy.spec()).is_some();
        let Some(policy) = policies.iter().find(by_label).filter(|_| !is_client) else {
            continue;
        };
        let workload = workload_of(facts, pod);
        let (object, node) = enrolment.decided_by;
        let message = format!(
            "{} is for {workload}, and nobody enforces it: {keeps_out}",
            policy.id
        );
        let finding = out.find(workload, message, Evidence::of(object, node, keeps_out));
        let spec = policy.spec().unwrap_or(&policy.node);
        finding.see(Evidence::of(policy, spec, "what nobody enforces"));
        finding.hits(pod.id.clone());
        finding.hits(policy.id.clone());
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice("take away what keeps it out, and restart it"));
    }
}
