//! See the page beside this file.

use crate::finding::{Rung, Severity};
use crate::rules::selector_misses::{for_nobody, tell_nobody};
use crate::rules::{Case, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0919",
    name: "policy-misses-workload",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "every policy with a selector selects a workload",
    needs: &[
        "k8s/authorizationpolicies.security.istio.io.json",
        "k8s/pods.json",
    ],
    uses: &[
        "k8s/requestauthentications.security.istio.io.json",
        "k8s/deployments.apps.json",
        "k8s/statefulsets.apps.json",
        "k8s/daemonsets.apps.json",
        "k8s/replicasets.apps.json",
        "k8s/jobs.batch.json",
        "k8s/workloadentries.networking.istio.io.json",
        "k8s/workloadgroups.networking.istio.io.json",
        "k8s/configmaps.json",
    ],
    explains: &[],
    docs: include_str!("policy_misses_workload.md"),
    check: Check::Either(check),
};

const KINDS: [&str; 2] = ["AuthorizationPolicy", "RequestAuthentication"];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // A policy that does nothing refuses nothing.
    if case.is_some_and(|case| case.seen.is_some_and(|seen| !seen.is_success())) {
        return;
    }
    out.examined += KINDS
        .iter()
        .map(|kind| facts.mesh.objects.of_kind(kind).len())
        .sum::<usize>();
    for policy in for_nobody(facts, &KINDS) {
        tell_nobody(facts, case, policy, out);
    }
}
