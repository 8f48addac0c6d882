//! See the page beside this file.

use super::meets::{crossed_waypoint, hit_ends, object_of, tunnel_ends};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_capture::ztunnel::policy::{CONVERTED, L4Action, STATIC_STRICT};
use meshladder_mesh::Object;
use meshladder_mesh::policies::Workload;
use meshladder_sim::trace::{TunnelEnd, TunnelFault};

pub(super) static RULE: Rule = Rule {
    code: "ML4026",
    name: "refused-by-ztunnel",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "no policy of layer 4 refuses the caller",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::PeerAuthentication,
        Kind::Service,
        Kind::K8sGateway,
        Kind::GatewayClass,
    ])
    .and(&[Part::Ztunnels]),
    explains: &["ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("refused_by_ztunnel.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    for (branch, end) in tunnel_ends(case) {
        out.examined();
        let Some((object, what)) = refuser(facts, case, end) else {
            continue;
        };
        let known = out
            .findings
            .iter()
            .any(|finding| finding.subject == object.id);
        if known {
            continue;
        }
        let who = match &end.identity {
            Some(identity) => identity.trim_start_matches("spiffe://").to_owned(),
            None => "a caller in plain text".to_owned(),
        };
        let message = format!(
            "{} {what} {who}, and the ztunnel of {}/{} closes the connection",
            object.id, end.pod.0, end.pod.1
        );
        let part = object.spec().unwrap_or(&object.node);
        let finding = out.find(
            object.id.clone(),
            message,
            Evidence::of(object, part, "what decides"),
        );
        for at in &branch.end.evidence {
            finding.see(Evidence::offset(
                &at.doc,
                at.offset,
                "the policy as ztunnel has it",
            ));
        }
        hit_ends(finding, case);
        finding.fix(Fix::advice("if the caller may call, say so in that policy"));
    }
}

/// The object that refuses, and what it does.
fn refuser<'f>(
    facts: &Facts<'f>,
    case: &Case<'_>,
    end: &TunnelEnd,
) -> Option<(&'f Object, &'static str)> {
    let objects = &facts.mesh.objects;
    let server = facts.mesh.pod(&end.pod.0, &end.pod.1)?;
    let pod = object_of(facts, server)?;
    match &end.why {
        TunnelFault::Denied(_, name) if name == STATIC_STRICT || name.starts_with(CONVERTED) => {
            let mode = facts.mesh.mutual_tls(&Workload::of(pod), server_port(case));
            Some((mode.by?.0, "is STRICT and refuses"))
        }
        TunnelFault::Denied(namespace, name) => {
            let policy = objects.get(Kind::AuthorizationPolicy, namespace, name)?;
            Some((policy, "denies"))
        }
        TunnelFault::NotAllowed => {
            let sent = facts.mesh.l4_policies_of(pod);
            let first = sent
                .iter()
                .find(|policy| policy.action == L4Action::Allow)?;
            let policy = objects.get(Kind::AuthorizationPolicy, &first.namespace, &first.name)?;
            let what = if crossed_waypoint(facts, case).is_some() {
                "does not let in the waypoint,"
            } else {
                "does not let in"
            };
            Some((policy, what))
        }
        _ => None,
    }
}

fn server_port(case: &Case<'_>) -> u16 {
    let endpoint = case
        .trace
        .branches
        .first()
        .and_then(|branch| branch.endpoint);
    endpoint.map_or(case.call.to.port, |(_, port)| port)
}
