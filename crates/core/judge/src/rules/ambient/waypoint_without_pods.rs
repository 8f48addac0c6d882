//! See the page beside this file.

use super::meets::{hit_ends, hit_service, service};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::views::{K8sGateway, Pod, Service};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML4021",
    name: "waypoint-without-pods",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every waypoint that traffic is bound to has a pod that is ready",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::Deployment,
        Kind::GatewayClass,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::HttpRoute,
    ]),
    explains: &["ML06", "ML07", "ML08", "ML09", "ML10", "ML403"],
    docs: include_str!("waypoint_without_pods.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|case| service(facts, case));
    let mut told: Vec<ObjectRef> = Vec::new();
    for object in facts.mesh.objects.of_kind(Kind::Service) {
        if called.is_some_and(|called| called.is_none_or(|called| called.id != object.id)) {
            continue;
        }
        // Who calls a headless Service calls its pods.
        if Service::of(object).is_headless() {
            continue;
        }
        let Some(gateway) = facts.mesh.service_waypoint(object).gateway() else {
            continue;
        };
        out.examined();
        let pods: Vec<Pod<'_>> = facts.mesh.deployed_pods(gateway).collect();
        if pods
            .iter()
            .any(|pod| pod.is_ready() && !pod.is_terminating())
        {
            continue;
        }
        // One that istiod does not deploy may run anywhere.
        let deployment = facts.mesh.deployment_of(gateway);
        if deployment.is_none() && pods.is_empty() && !is_deployed(facts, gateway) {
            continue;
        }
        if told.contains(gateway.id()) {
            if let Some(finding) = out.findings.last_mut() {
                hit_service(finding, facts, object);
            }
            continue;
        }
        told.push(gateway.id().clone());
        tell(facts, case, object, gateway, deployment, &pods, out);
    }
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    object: &Object,
    gateway: K8sGateway<'_>,
    deployment: Option<&Object>,
    pods: &[Pod<'_>],
    out: &mut Sink,
) {
    let subject = deployment.map_or_else(|| gateway.id().clone(), |object| object.id.clone());
    let replicas = deployment.and_then(|object| object.spec_at(["replicas"]));
    let is_zero =
        matches!(replicas.map(|node| &node.value), Some(Value::Number(text)) if &**text == "0");
    let what = match (is_zero, pods.first()) {
        (true, _) => "it is scaled to zero".to_owned(),
        (false, Some(pod)) => format!("{} is not ready", pod.object.id),
        (false, None) => "it has no pod".to_owned(),
    };
    let message = format!(
        "{} is bound to the waypoint {}/{}, and that has no pod that is ready: {what}, and nothing goes past it",
        object.id,
        gateway.namespace(),
        gateway.name()
    );
    let proof = match (deployment, pods.first()) {
        (Some(deployment), _) => {
            let part: Option<&Node> = replicas.or_else(|| deployment.node.get("status"));
            Evidence::of(deployment, part.unwrap_or(&deployment.node), "its replicas")
        }
        (None, Some(pod)) => Evidence::object(pod.object, "a pod of the waypoint"),
        (None, None) => Evidence::object(gateway.object, "the waypoint"),
    };
    let finding = out.find(subject, message, proof);
    finding.see(Evidence::object(
        gateway.object,
        "the waypoint, which keeps its address",
    ));
    hit_service(finding, facts, object);
    finding.hits(gateway.id().clone());
    for pod in pods {
        finding.hits(pod.object.id.clone());
    }
    if let Some(case) = case {
        hit_ends(finding, case);
    }
    if let Some(deployment) = deployment.filter(|_| is_zero) {
        finding.fix(
            Fix::merge(&deployment.id, Value::nested(["spec", "replicas"], 1u64))
                .unchecked("the pod has to start first"),
        );
    } else {
        finding.fix(Fix::advice("see why its pods are not ready"));
    }
}

/// Whether istiod deploys it: of its own class.
fn is_deployed(facts: &Facts<'_>, gateway: K8sGateway<'_>) -> bool {
    facts.mesh.is_waypoint(gateway)
}
