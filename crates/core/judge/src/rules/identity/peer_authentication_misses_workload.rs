//! See the page beside this file.

use super::port_level::{Misplaced, misplaced};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::selector_misses::{for_nobody, tell_nobody};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::Workload;

pub(super) static RULE: Rule = Rule {
    code: "ML0818",
    name: "peer-authentication-misses-workload",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "every PeerAuthentication with a selector reaches a workload and its ports",
    needs: Inputs::of(&[Kind::PeerAuthentication, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Service,
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
    docs: include_str!("peer_authentication_misses_workload.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // What it does to a request that fails, ML0802 tells.
    if case.is_some_and(|case| case.seen.is_some_and(|seen| !seen.is_success())) {
        return;
    }
    out.examined += facts.mesh.objects.of_kind(Kind::PeerAuthentication).len();
    for policy in for_nobody(facts, &[Kind::PeerAuthentication]) {
        tell_nobody(facts, case, policy, out);
    }
    for misplaced in misplaced(facts) {
        tell(facts, &misplaced, out);
    }
}

fn tell(facts: &Facts<'_>, misplaced: &Misplaced<'_>, out: &mut Sink) {
    let Misplaced {
        policy,
        entry,
        pod,
        meant,
    } = misplaced;
    let workload = called_service::workload_ref(facts.mesh, pod);
    let proof = Evidence::of(policy, &entry.value, "the port it names");
    let Some((service, port)) = meant else {
        // An application may well listen on a port that nothing names.
        let message = format!(
            "{} says what port {} of {workload} takes, which nothing names",
            policy.id, entry.key
        );
        let finding = out.find(policy.id.clone(), message, proof);
        finding.severity(Severity::Info);
        finding.fix(Fix::advice(
            "name the port on which the application listens, or drop the entry",
        ));
        return;
    };
    let message = format!(
        "{} names port {} of {}, but {workload} listens on {port} for it, so that the entry does nothing",
        policy.id, entry.key, service.id
    );
    let finding = out.find(policy.id.clone(), message, proof);
    finding.see(Evidence::of(
        service,
        service.spec_at(["ports"]).unwrap_or(&service.node),
        "where the port leads",
    ));
    finding.hits(pod.id.clone()).hits(service.id.clone());
    finding.fixes.extend(misplaced.fix());
    let is = facts.mesh.mutual_tls(&Workload::of(pod), *port).mode;
    if misplaced.mode().is_none_or(|wanted| wanted == is) {
        finding.severity(Severity::Info);
    }
}
