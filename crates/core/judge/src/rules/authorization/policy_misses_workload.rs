//! See the page beside this file.

use crate::finding::{Rung, Severity};
use crate::rules::selector_misses::{for_nobody, tell_nobody};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0919",
    name: "policy-misses-workload",
    aka: &["IST0127", "KIA0004"],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "every policy with a selector selects a workload",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::ReplicaSet,
        Kind::Job,
        Kind::WorkloadEntry,
        Kind::WorkloadGroup,
        Kind::ConfigMap,
    ]),
    explains: &[],
    docs: include_str!("policy_misses_workload.md"),
    check: Check::Lens(check, objects::ALONE),
};

const KINDS: [Kind; 2] = [Kind::AuthorizationPolicy, Kind::RequestAuthentication];

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // A policy that does nothing refuses nothing.
    if case.is_some_and(|case| case.seen.is_some_and(|seen| !seen.is_success())) {
        return;
    }
    out.examined += KINDS
        .iter()
        .map(|kind| facts.mesh.objects.of_kind(*kind).len())
        .sum::<usize>();
    for policy in for_nobody(facts, &KINDS) {
        tell_nobody(facts, case, policy, out);
    }
}
