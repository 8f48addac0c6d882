//! See the page beside this file.

use super::meets::{got_through, hit_ends, is_captured, object_of, tunnel_ends};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::ambient::conversion::{Degraded, convert};
use meshladder_mesh::policies::selector;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::views::AuthorizationPolicy;
use meshladder_sim::trace::TunnelFault;

pub(super) static RULE: Rule = Rule {
    code: "ML4023",
    name: "l7-policy-at-ztunnel",
    aka: &["KIA0110"],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "no policy for ztunnel asks for what only requests have",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::Namespace,
        Kind::ConfigMap,
        Kind::PeerAuthentication,
        Kind::Service,
    ]),
    explains: &["ML09", "ML10", "ML4025", "ML4026"],
    docs: include_str!("l7_policy_at_ztunnel.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let root = &*facts.mesh.config.root_namespace;
    for policy in AuthorizationPolicy::all(&facts.mesh.objects) {
        let conversion = convert(policy, root);
        let Some(&(_, part)) = conversion.beyond.first() else {
            continue;
        };
        let held = held(facts, case, policy);
        if held.is_empty() {
            continue;
        }
        out.examined();
        let Some(degraded) = conversion.degraded() else {
            continue;
        };
        if case.is_some_and(|case| !bears(case, degraded, policy)) {
            continue;
        }
        let what = match degraded {
            Degraded::RefusesAll => {
                "ztunnel leaves its rules out, and an ALLOW without rules refuses everything"
            }
            Degraded::AllowsLess => {
                "ztunnel leaves those rules out, and refuses what only they allow"
            }
            Degraded::RefusesNothing => "ztunnel sees no requests, and it refuses nothing",
            Degraded::DeniesMore => {
                "ztunnel leaves that part out, and it refuses more than it says"
            }
        };
        let message = format!(
            "{} asks for what only requests have: {what}",
            policy.object.id
        );
        let finding = out.find(
            policy.object.id.clone(),
            message,
            Evidence::of(policy.object, part, "ztunnel cannot see this"),
        );
        if matches!(degraded, Degraded::RefusesNothing | Degraded::DeniesMore) {
            finding.severity(Severity::Warning);
        }
        if let Some(status) = status(policy.object) {
            finding.see(status);
        }
        for pod in held {
            finding.hits(pod.id.clone());
        }
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice(
            "give the Service a waypoint and name it in targetRefs, or say it with principals, namespaces, addresses and ports only",
        ));
    }
}

/// The captured pods that a policy is for.
fn held<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
    policy: AuthorizationPolicy<'_>,
) -> Vec<&'f Object> {
    let root = &*facts.mesh.config.root_namespace;
    let spec = policy.object.spec();
    let takes = |pod: &&Object| {
        let is_near = policy.namespace() == root || pod.id.namespace == policy.namespace();
        let selects = match (spec.and_then(|spec| spec.get("selector")), selector(spec)) {
            (Some(_), Some(wanted)) => has_labels(wanted, pod.labels()),
            (Some(_), None) => false,
            (None, _) => true,
        };
        is_near && selects && is_captured(facts, pod)
    };
    match case {
        Some(case) => {
            let servers = case.servers.iter().filter_map(|pod| object_of(facts, pod));
            servers.filter(takes).collect()
        }
        None => facts
            .mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(takes)
            .collect(),
    }
}

/// Whether what becomes of a policy is what becomes of the request.
fn bears(case: &Case<'_>, degraded: Degraded, policy: AuthorizationPolicy<'_>) -> bool {
    let mut ends = tunnel_ends(case).map(|(_, end)| &end.why);
    match degraded {
        Degraded::RefusesAll | Degraded::AllowsLess => {
            ends.any(|why| *why == TunnelFault::NotAllowed)
        }
        Degraded::DeniesMore => ends.any(|why| {
            matches!(why, TunnelFault::Denied(namespace, name)
                if namespace == policy.namespace() && name == policy.name())
        }),
        Degraded::RefusesNothing => got_through(case),
    }
}

/// What istiod wrote of it.
fn status(policy: &Object) -> Option<Evidence> {
    let conditions = policy.node.at(["status", "conditions"])?.items();
    let found = conditions
        .iter()
        .find(|condition| condition.str_at("type") == Some("ZtunnelAccepted"))?;
    let shows = found.str_at("message").unwrap_or("what istiod says of it");
    Some(Evidence::of(policy, found, shows))
}
