//! See the page beside this file.

use super::meets::{got_through, hit_ends, is_captured, service};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::ambient::waypoint::{USE_WAYPOINT, WaypointBinding};
use meshladder_mesh::references::Reference;
use meshladder_mesh::views::K8sGateway;

pub(super) static RULE: Rule = Rule {
    code: "ML4024",
    name: "policy-target-not-bound",
    aka: &["KIA0109"],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "every policy with targetRefs is enforced by somebody",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::GatewayClass,
        Kind::ConfigMap,
    ]),
    explains: &["ML09", "ML10"],
    docs: include_str!("policy_target_not_bound.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|case| service(facts, case));
    let policies = facts.mesh.objects.of_kind(Kind::AuthorizationPolicy).iter();
    let tokens = facts
        .mesh
        .objects
        .of_kind(Kind::RequestAuthentication)
        .iter();
    for policy in policies.chain(tokens) {
        let single = policy.spec_at(["targetRef"]);
        for node in policy.spec_list("targetRefs").iter().chain(single) {
            let target = Reference::of(policy, node, "", "Service");
            out.examined();
            let Some((why, about)) = unenforced(facts, policy, target) else {
                continue;
            };
            if let Some(called) = called
                && (called.is_none()
                    || about.is_some_and(|about| called.is_none_or(|c| c.id != about.id)))
            {
                continue;
            }
            // That a policy is missed shows in what it lets through.
            let is_missed =
                case.is_none_or(|case| got_through(case) && is_near(policy, called.flatten()));
            if about.is_none() && !is_missed {
                continue;
            }
            let own = about.and_then(|about| {
                about
                    .labels()?
                    .get(USE_WAYPOINT)
                    .map(|label| (about, label))
            });
            let message = format!("{} is enforced by nobody: {why}", policy.id);
            let proof = Evidence::of(policy, node, "what it is for");
            let finding = match own {
                Some((about, label)) => {
                    let shows = "the Service's own label outweighs its namespace's";
                    let finding =
                        out.find(about.id.clone(), message, Evidence::of(about, label, shows));
                    finding.see(proof);
                    finding
                }
                None => out.find(policy.id.clone(), message, proof),
            };
            if let Some(about) = about {
                finding.hits(about.id.clone());
            }
            if let Some(case) = case {
                hit_ends(finding, case);
            }
            finding.fix(Fix::advice(format!(
                "name a waypoint with {USE_WAYPOINT} on the Service or its namespace, or correct the targetRef"
            )));
        }
    }
}

/// Why nobody enforces a policy for a target, and the Service that it would be about.
fn unenforced<'f>(
    facts: &Facts<'f>,
    policy: &Object,
    target: Reference<'_>,
) -> Option<(String, Option<&'f Object>)> {
    let mesh = facts.mesh;
    if target.is_service() {
        let Some(service) = mesh.service(&policy.id.namespace, target.name) else {
            return Some((
                format!("there is no Service {} in its namespace", target.name),
                None,
            ));
        };
        let is_bare = matches!(mesh.service_waypoint(service), WaypointBinding::None);
        let pods = mesh.selected_pods(service);
        let is_ambient = pods.iter().any(|pod| is_captured(facts, pod));
        return (is_bare && is_ambient)
            .then(|| (format!("{} has no waypoint", service.id), Some(service)));
    }
    if target.is_gateway() && facts.unread(Kind::K8sGateway).is_none() {
        let gateway = K8sGateway::get(&mesh.objects, &policy.id.namespace, target.name);
        return gateway.is_none().then(|| {
            (
                format!("there is no Gateway {} in its namespace", target.name),
                None,
            )
        });
    }
    if target.kind == "GatewayClass" && *policy.id.namespace != *mesh.config.root_namespace {
        return Some((
            "a GatewayClass counts only from the root namespace".to_owned(),
            None,
        ));
    }
    None
}

/// Whether a policy whose target is not there is in the namespace of the Service that is called.
fn is_near(policy: &Object, called: Option<&Object>) -> bool {
    called.is_some_and(|called| called.id.namespace == policy.id.namespace)
}
