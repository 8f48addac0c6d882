//! See the page beside this file.

use super::unmatched::{self, Why};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::PodFacts;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0903",
    name: "caller-under-another-account",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "a caller that policy means to admit runs under the service account that policy names",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod, Kind::ServiceAccount]),
    uses: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::RequestAuthentication,
        Kind::Service,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0902"],
    docs: include_str!("account_changed.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(found) = unmatched::find(facts, case) else {
        return;
    };
    let Why::OtherAccount(caller, account) = found.why else {
        return;
    };
    let policy = found.policies[0];
    let workload = caller.workload();
    let current = unmatched::template_account(facts, caller)
        .unwrap_or_else(|| caller.service_account.clone());
    let message = format!(
        "{workload} runs as service account {current}, and {} admits account {}, which {workload} does not use",
        policy.id, account.id.name
    );
    let finding = out.find(workload.clone(), message, proof(facts, caller));
    finding.see(Evidence::object(
        policy,
        "the policy, which admits the other account",
    ));
    finding.see(Evidence::object(account, "the account that it admits"));
    finding
        .see(found.denial.proof)
        .hits(caller.reference())
        .hits(found.denial.server.reference());
    let name = &account.id.name;
    let account = Value::object([("serviceAccountName", name), ("serviceAccount", name)]);
    let patch = Value::nested(["spec", "template", "spec"], account);
    if !workload.is(Kind::Pod) {
        finding.fix(Fix::merge(&workload, patch));
    }
}

/// Where the workload says what it runs as, else where its pod does.
fn proof(facts: &Facts<'_>, caller: &PodFacts) -> Evidence {
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &caller.namespace, &caller.name)
        .expect("the caller is one of the pods");
    let template = facts.mesh.workload_of(pod).and_then(|workload| {
        let spec = workload.spec_at(["template", "spec"])?;
        let part = spec.get("serviceAccountName").unwrap_or(spec);
        Some(Evidence::of(workload, part, "the account of its pods"))
    });
    let own = || {
        let part = pod
            .spec_at(["serviceAccountName"])
            .or(pod.spec())
            .unwrap_or(&pod.node);
        Evidence::of(pod, part, "the account it runs as")
    };
    template.unwrap_or_else(own)
}
