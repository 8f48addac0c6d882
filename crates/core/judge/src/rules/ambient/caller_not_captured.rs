//! See the page beside this file.

use super::meets::{client, fails, hit_ends, tunnel_ends, workload_of};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ambient::{AmbientReason, DATAPLANE_MODE};
use meshladder_sim::trace::{TunnelEnd, TunnelFault};
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML4001",
    name: "caller-not-captured",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a caller of pods that ask who calls is in the mesh",
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::ConfigMap,
        Kind::AuthorizationPolicy,
        Kind::PeerAuthentication,
    ])
    .and(&[Part::Ztunnels]),
    explains: &[
        "ML03", "ML06", "ML07", "ML08", "ML09", "ML10", "ML402", "ML403",
    ],
    docs: include_str!("caller_not_captured.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(pod) = client(facts, case) else {
        return;
    };
    out.examined();
    let refused = |end: &&TunnelEnd| {
        end.identity.is_none()
            && matches!(end.why, TunnelFault::Denied(..) | TunnelFault::NotAllowed)
    };
    let Some(end) = tunnel_ends(case).map(|(_, end)| end).find(refused) else {
        return;
    };
    let has_proxy = case.client.is_some_and(|client| client.has_proxy);
    let enrolment = facts.mesh.ambient_enrolment(pod);
    if has_proxy || enrolment.is_captured() || enrolment.is_wanted || !fails(case) {
        return;
    }
    let (object, node) = enrolment.decided_by;
    let (workload, server) = (
        workload_of(facts, pod),
        format!("{}/{}", end.pod.0, end.pod.1),
    );
    let (subject, why) = match enrolment.reason {
        AmbientReason::NotLabelled | AmbientReason::ExcludedNamespace => (
            object.id.clone(),
            format!("{} does not put it into the mesh", object.id),
        ),
        AmbientReason::HostNetwork => (
            workload.clone(),
            "it is on the host's network, which cannot be redirected".to_owned(),
        ),
        _ => (
            workload.clone(),
            format!("its label {DATAPLANE_MODE}: none keeps it out"),
        ),
    };
    let message = format!(
        "{workload} calls in plain text, without an identity, and the ztunnel of {server} refuses it: {why}"
    );
    let finding = out.find(subject, message, Evidence::of(object, node, why.clone()));
    hit_ends(finding, case);
    if let Some(ended) = tunnel_ends(case).find_map(|(branch, _)| branch.end.evidence.first()) {
        finding.see(Evidence::offset(
            &ended.doc,
            ended.offset,
            "the policy that refuses it",
        ));
    }
    match enrolment.reason {
        AmbientReason::NotLabelled if object.is(Kind::Namespace) => {
            let label = Value::nested(["metadata", "labels", DATAPLANE_MODE], "ambient");
            let fix = Fix::merge(&object.id, label);
            finding.fix(fix.unchecked("the node's agent must capture the pods first"));
        }
        AmbientReason::HostNetwork => {
            finding.fix(Fix::advice(
                "take it off the host's network, or let the server accept plain text on that port",
            ));
        }
        _ => {
            finding.fix(Fix::advice("take away what keeps it out, and restart it"));
        }
    }
}
