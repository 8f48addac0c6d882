//! See the page beside this file.

use super::meets::{client, crossed_waypoint, got_through, hit_ends, service, workload_of};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::waypoint::INGRESS_USE_WAYPOINT;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::views::{Namespace, Pod};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_sim::walk::Caller;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML4027",
    name: "waypoint-bypassed",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "whoever is held to a waypoint's policies goes through it",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::GatewayClass,
        Kind::ConfigMap,
        Kind::AuthorizationPolicy,
        Kind::HttpRoute,
        Kind::RequestAuthentication,
    ]),
    explains: &["ML06", "ML10"],
    docs: include_str!("waypoint_bypassed.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(to) = service(facts, case) else {
        return;
    };
    let Some(gateway) = facts.mesh.service_waypoint(to).gateway() else {
        return;
    };
    out.examined();
    // Who got what was not meant: a request that failed has another cause.
    if !got_through(case) || crossed_waypoint(facts, case).is_some() {
        return;
    }
    let Some((kind, policy)) = for_waypoint(facts, to, gateway.object) else {
        return;
    };
    let waypoint = format!("{}/{}", gateway.namespace(), gateway.name());
    let (subject, why, fix) = match (&case.call.from, client(facts, case)) {
        (Caller::Outside, _) => {
            let patch = Value::nested(["metadata", "labels", INGRESS_USE_WAYPOINT], "true");
            (
                to.id.clone(),
                format!("gateways go straight to the pods unless {INGRESS_USE_WAYPOINT} is true"),
                Fix::merge(&to.id, patch).unchecked("the gateway must get it first"),
            )
        }
        (_, Some(pod)) if is_labelled_twice(facts, pod) => (
            ObjectRef::of(Kind::Namespace, "", &pod.id.namespace),
            format!(
                "{} asks for ambient and for sidecars, and sidecars go straight to the pods",
                pod.id.namespace
            ),
            Fix::advice("take the injection label from the namespace, and restart its pods"),
        ),
        (_, Some(pod)) => (
            workload_of(facts, pod),
            format!("{} does not go through ztunnel", workload_of(facts, pod)),
            Fix::advice("move the caller to ambient, or hold the pods to the policy themselves"),
        ),
        (_, None) => return,
    };
    let message = format!(
        "{kind} {} is enforced by the waypoint {waypoint}, and this call goes past it: {why}",
        policy.id.name
    );
    let part = policy.spec().unwrap_or(&policy.node);
    let finding = out.find(
        subject,
        message,
        Evidence::of(policy, part, "what the waypoint enforces"),
    );
    finding.see(Evidence::object(gateway.object, "the waypoint"));
    hit_ends(finding, case);
    finding.fix(fix);
}

/// Whether a pod has a sidecar though its namespace asks for ambient: injection wins.
fn is_labelled_twice(facts: &Facts<'_>, pod: &Object) -> bool {
    let namespace = Namespace::get(&facts.mesh.objects, "", &pod.id.namespace);
    Pod::of(pod).has_proxy()
        && namespace.is_some_and(|namespace| {
            namespace.is_labelled_ambient() && namespace.asks_for_proxies()
        })
}

/// A policy or a route for a Service that only its waypoint follows.
fn for_waypoint<'f>(
    facts: &Facts<'f>,
    to: &'f Object,
    gateway: &'f Object,
) -> Option<(&'static str, &'f Object)> {
    let service = Some((to.id.namespace.as_str(), to.id.name.as_str()));
    let workload = Workload {
        namespace: &gateway.id.namespace,
        labels: facts
            .mesh
            .deployed_pods(meshladder_mesh::views::K8sGateway::of(gateway))
            .next()
            .and_then(|pod| pod.object.labels()),
        service,
    };
    for kind in [Kind::AuthorizationPolicy, Kind::RequestAuthentication] {
        if let Some(policy) = facts.mesh.policies(kind, &workload).first() {
            return Some((kind.singular(), policy));
        }
    }
    let mut routes = facts.mesh.objects.of_kind(Kind::HttpRoute).iter();
    let route = routes.find(|route| {
        meshladder_mesh::references::parents(route).any(|parent| {
            parent.is_service() && parent.name == to.id.name && parent.namespace == to.id.namespace
        })
    })?;
    Some((Kind::HttpRoute.singular(), route))
}
