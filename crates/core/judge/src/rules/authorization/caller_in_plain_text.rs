//! See the page beside this file.

use super::denial;
use super::unmatched::{self, Unmatched, Why};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::identity::{bypassed, drop_annotation};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, PodFacts};

pub(super) static RULE: Rule = Rule {
    code: "ML0908",
    name: "caller-in-plain-text",
    aka: &["KIA0105"],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "a caller that policy knows by its identity shows it by mutual TLS",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::DestinationRule,
        Kind::PeerAuthentication,
        Kind::ServiceAccount,
        Kind::Service,
        Kind::Sidecar,
        Kind::ServiceEntry,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::VirtualService,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0902"],
    docs: include_str!("caller_in_plain_text.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(found) =
        unmatched::find(facts, case).filter(|found| matches!(found.why, Why::PlainText))
    else {
        return;
    };
    let Some(caller) = accounts::caller(facts, case) else {
        return;
    };
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &caller.namespace, &caller.name);
    if let Some((key, node)) = pod
        .filter(|_| caller.has_proxy)
        .and_then(|pod| bypassed(pod, case))
    {
        let message = format!(
            "{} keeps its calls to {} from its proxy ({key}), so they leave in plain text, and {} admits callers by an identity that only mutual TLS shows",
            caller.workload(),
            case.host,
            found.policies[0].id
        );
        let proof = pod.map(|pod| Evidence::of(pod, node, "what bypasses the proxy"));
        let Some(proof) = proof else { return };
        let finding = out.find(caller.workload(), message, proof);
        finding.fix(drop_annotation(&caller.workload(), key));
        return see(finding, found);
    }
    match disables_tls(facts, case, caller) {
        Some((rule, node)) if caller.has_proxy => {
            let message = format!(
                "{} makes {} call in plain text, and {} admits callers by an identity that only mutual TLS shows",
                rule.id,
                caller.workload(),
                found.policies[0].id
            );
            let finding = out.find(rule.id.clone(), message, Evidence::of(rule, node, "no TLS"));
            let at = rule.path_of(node);
            finding.fix(Fix::patch(
                &rule.id,
                [Op::replace(format!("{at}/mode"), "ISTIO_MUTUAL")],
            ));
            see(finding, found);
        }
        _ => match denial::plain_server(facts, case, found.denial.server)
            .filter(|_| caller.has_proxy)
        {
            Some((policy, mode)) => {
                let message = format!(
                    "{} makes {} take plain text only, and {} admits callers by an identity that only mutual TLS shows",
                    policy.id,
                    found.denial.server.workload(),
                    found.policies[0].id
                );
                let finding = out.find(
                    policy.id.clone(),
                    message,
                    Evidence::of(policy, mode, "no mutual TLS"),
                );
                finding.fix(Fix::patch(
                    &policy.id,
                    [Op::replace(policy.path_of(mode), "PERMISSIVE")],
                ));
                see(finding, found);
            }
            None => without_proxy(facts, caller, found, out),
        },
    }
}

fn without_proxy(facts: &Facts<'_>, caller: &PodFacts, found: Unmatched<'_>, out: &mut Sink) {
    let Some(pod) = facts
        .mesh
        .objects
        .get(Kind::Pod, &caller.namespace, &caller.name)
    else {
        return;
    };
    let message = format!(
        "{} calls in plain text, and {} admits callers by an identity that only mutual TLS shows",
        caller.workload(),
        found.policies[0].id
    );
    let finding = out.find(
        caller.workload(),
        message,
        Evidence::object(pod, "the caller"),
    );
    finding.fix(Fix::advice(
        "bring the caller into the mesh, so that it shows its identity",
    ));
    see(finding, found);
}

fn see(finding: &mut crate::finding::Finding, found: Unmatched<'_>) {
    finding.see(Evidence::object(found.policies[0], "it wants an identity"));
    finding
        .hits(found.denial.server.reference())
        .see(found.denial.proof);
}

fn disables_tls<'r>(
    facts: &Facts<'r>,
    case: &Case<'_>,
    caller: &PodFacts,
) -> Option<(&'r Object, &'r meshladder_text::tree::Node)> {
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &caller.namespace, &caller.name)?;
    let rule = facts
        .mesh
        .destination_rule(facts.mesh.scope(pod), &case.host)?;
    let (rule, tls) = rule.setting("tls", case.call.to.port, None)?;
    (tls.str_at("mode") == Some("DISABLE")).then_some((rule, tls))
}
