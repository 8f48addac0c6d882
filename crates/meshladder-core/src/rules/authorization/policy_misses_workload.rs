//! See the page beside this file.

use crate::doc::json::escape;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::policies::selector;
use crate::model::selector::has_labels;
use crate::rules::endpoints::met;
use crate::rules::missed::{for_nobody, slip};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0919",
    name: "policy-misses-workload",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "every policy with a selector selects a workload",
    needs: &["k8s/authorizationpolicies.security.istio.io.json", "k8s/pods.json"],
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

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    // A policy that does nothing refuses nothing.
    if asked.is_some_and(|asked| asked.seen.is_some_and(|seen| !seen.is_success())) {
        return;
    }
    out.examined += KINDS.iter().map(|kind| facts.mesh.objects.of_kind(kind).len()).sum::<usize>();
    for policy in for_nobody(facts, &KINDS) {
        tell(facts, asked, policy, out);
    }
}

fn tell(facts: &Facts<'_>, asked: Option<&Asked<'_>>, policy: &Stored, out: &mut Sink) {
    let Some(wanted) = selector(policy.spec()) else { return };
    let words = met::labels_in_words(wanted);
    let is_asked =
        |pod: &&Stored| asked.is_none_or(|asked| asked.servers.iter().any(|server| server.reference() == pod.id));
    let pods = || facts.mesh.objects.of_kind("Pod").iter().filter(is_asked);
    let near = pods().find_map(|pod| Some((pod, slip(policy, pod)?)));
    if let Some((pod, (label, own))) = near {
        let workload = met::workload_ref(facts.mesh, pod);
        let message = format!("{} selects {words}, which nothing has: {workload} has {own}", policy.id);
        let finding = out.find(policy.id.clone(), message, Evidence::of(policy, label, "what it selects"));
        finding.hits(pod.id.clone());
        finding.fix(met::put(policy, "replace", &policy.path_of(label), &escape(&own)));
        return;
    }
    let elsewhere = pods().find(|pod| has_labels(wanted, pod.labels()));
    if let Some(pod) = elsewhere {
        let message = format!(
            "{} selects {words}, which {} has, but a policy reaches only its own namespace",
            policy.id,
            met::workload_ref(facts.mesh, pod)
        );
        let finding = out.find(policy.id.clone(), message, Evidence::of(policy, wanted, "what it selects"));
        finding.hits(pod.id.clone());
        finding.fix(Fix::advice(format!("move it to namespace {}", pod.id.namespace)));
    } else if asked.is_none() {
        // What it was for may be gone.
        let message = format!("{} selects {words}, which nothing has, so that it does nothing", policy.id);
        let finding = out.find(policy.id.clone(), message, Evidence::of(policy, wanted, "what it selects"));
        finding.severity(Severity::Info).when_asked(Severity::Warning);
        finding.fix(Fix::advice("select the labels that the workload has, or delete it"));
    }
}
