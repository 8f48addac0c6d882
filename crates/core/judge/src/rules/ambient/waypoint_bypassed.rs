//! See the page beside this file.

use super::allow_forgets_waypoint::waypoint_identity;
use super::meets::{
    client, crossed_waypoint, fails, got_through, hit_ends, is_captured, service, tunnel_ends,
    workload_of,
};
use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::policy::PolicyVerdict;
use crate::rules::authorization::{As, verdict, workload};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_capture::ztunnel::policy::{L4Action, L4Connection};
use meshladder_mesh::ambient::waypoint::{INGRESS_USE_WAYPOINT, USE_WAYPOINT, WaypointBinding};
use meshladder_mesh::views::{K8sGateway, Namespace, Pod};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_sim::trace::{TunnelEnd, TunnelFault};
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
        Kind::RequestAuthentication,
        Kind::PeerAuthentication,
        Kind::VirtualService,
        Kind::Sidecar,
    ]),
    explains: &["ML06", "ML09", "ML10", "ML4025", "ML4026"],
    docs: include_str!("waypoint_bypassed.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(to) = service(facts, case) else {
        return;
    };
    out.examined();
    if crossed_waypoint(facts, case).is_some() {
        return;
    }
    let binding = facts.mesh.service_waypoint(to);
    // What is refused since it comes from elsewhere, or what the waypoint would have refused.
    let proof = match binding.gateway() {
        _ if fails(case) => wants_waypoint(facts, case),
        Some(gateway) if got_through(case) => would_refuse(facts, case, gateway),
        _ => None,
    };
    let Some((policy, shows)) = proof else { return };
    let Some((subject, why, fix)) = past(facts, case, to, &binding) else {
        return;
    };
    let message = format!(
        "{} {shows}, and this call does not go through it: {why}",
        policy.id
    );
    let part = policy.spec().unwrap_or(&policy.node);
    let finding = out.find(
        subject,
        message,
        Evidence::of(policy, part, "what asks for the waypoint"),
    );
    if fails(case) {
        finding.severity(Severity::Error);
    }
    if let Some(label) = binding.label() {
        finding.see(Evidence::of(
            label.object,
            label.node,
            "the label that names a waypoint",
        ));
    }
    hit_ends(finding, case);
    finding.hits(policy.id.clone());
    finding.fix(fix);
}

/// The ALLOW policy that refuses a caller and lets a waypoint in.
fn wants_waypoint<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<(&'f Object, &'static str)> {
    let refused = |end: &&TunnelEnd| end.why == TunnelFault::NotAllowed;
    let end = tunnel_ends(case).map(|(_, end)| end).find(refused)?;
    let pod = facts.mesh.objects.get(Kind::Pod, &end.pod.0, &end.pod.1)?;
    let address = Pod::of(pod).ips().first().copied()?;
    let policies = facts.mesh.l4_policies_of(pod);
    let mut waypoints = facts.mesh.waypoints();
    waypoints.find_map(|gateway| {
        let connection = L4Connection {
            source: None,
            identity: Some(waypoint_identity(facts, gateway)),
            destination: (address, case.call.to.port),
        };
        let allows = policies
            .iter()
            .filter(|policy| policy.action == L4Action::Allow);
        let policy = allows
            .into_iter()
            .find(|policy| policy.matches(&connection))?;
        let object =
            facts
                .mesh
                .objects
                .get(Kind::AuthorizationPolicy, &policy.namespace, &policy.name)?;
        Some((object, "lets only what comes through a waypoint in"))
    })
}

/// The policy by which the waypoint would have refused the request.
fn would_refuse<'f>(
    facts: &Facts<'f>,
    case: &Case<'_>,
    gateway: K8sGateway<'f>,
) -> Option<(&'f Object, &'static str)> {
    let pod = facts.mesh.deployed_pods(gateway).next()?;
    let waypoint = facts.mesh.pod(pod.namespace(), pod.name())?;
    let verdict = verdict(facts, case, waypoint, As::default())?;
    if !matches!(verdict, PolicyVerdict::Denied { .. }) {
        return None;
    }
    let workload = workload(facts, case, pod.object);
    let policies = facts.mesh.policies(Kind::AuthorizationPolicy, &workload);
    let policy = policies.into_iter().next()?;
    Some((policy, "is enforced by the waypoint, which would refuse it"))
}

/// Why a call goes past a waypoint: the object to change, in words, and what to do.
fn past(
    facts: &Facts<'_>,
    case: &Case<'_>,
    to: &Object,
    binding: &WaypointBinding<'_>,
) -> Option<(Subject, String, Fix)> {
    let named = |object: &ObjectRef| Subject::from(object.clone());
    match binding {
        // Another rule says why.
        WaypointBinding::Unbound { .. } => return None,
        WaypointBinding::None => {
            let own = to.labels().and_then(|labels| labels.get(USE_WAYPOINT));
            let namespace = ObjectRef::of(Kind::Namespace, "", &to.id.namespace);
            let object = if own.is_some() { &to.id } else { &namespace };
            let why = format!("{object} binds {} to no waypoint", to.id);
            let fix = format!("name the waypoint with {USE_WAYPOINT} on {object}");
            return Some((named(object), why, Fix::advice(fix)));
        }
        WaypointBinding::Bound { .. } => {}
    }
    if case.call.from == Caller::Outside {
        let patch = Value::nested(["metadata", "labels", INGRESS_USE_WAYPOINT], "true");
        let why = format!("gateways go straight to the pods unless {INGRESS_USE_WAYPOINT} is true");
        let fix = Fix::merge(&to.id, patch).unchecked("the gateway must get it first");
        return (!facts.mesh.uses_waypoint_from_ingress(to)).then(|| (named(&to.id), why, fix));
    }
    let pod = client(facts, case)?;
    if is_labelled_twice(facts, pod) {
        let namespace = ObjectRef::of(Kind::Namespace, "", &pod.id.namespace);
        let why = format!(
            "{namespace} asks for ambient and for sidecars, and sidecars go straight to the pods"
        );
        let fix = "take the injection label from the namespace, and restart its pods";
        return Some((named(&namespace), why, Fix::advice(fix)));
    }
    if is_captured(facts, pod) {
        let why = "it is addressed to a pod, and the waypoint is for Services".to_owned();
        return Some((
            Subject::Request,
            why,
            Fix::advice("call the Service by its own address"),
        ));
    }
    let workload = workload_of(facts, pod);
    let why = format!("{workload} does not go through ztunnel");
    let fix = "move the caller to ambient, or hold the pods to the policy themselves";
    Some((named(&workload), why, Fix::advice(fix)))
}

/// Whether a pod has a sidecar though its namespace asks for ambient: injection wins.
fn is_labelled_twice(facts: &Facts<'_>, pod: &Object) -> bool {
    let namespace = Namespace::get(&facts.mesh.objects, "", &pod.id.namespace);
    Pod::of(pod).has_proxy()
        && namespace.is_some_and(|namespace| {
            namespace.is_labelled_ambient() && namespace.asks_for_proxies()
        })
}
