//! See the page beside this file.

use super::meets::{hit_ends, hit_service, is_captured, service};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::waypoint::{
    Unbound, WAYPOINT_CLASS, WAYPOINT_FOR, WaypointBinding, WaypointLabel,
};
use meshladder_mesh::views::{K8sGateway, Service};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML4020",
    name: "waypoint-not-bound",
    aka: &["KIA1313"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every waypoint that a label names is there, ready, and takes what is bound to it",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::Pod,
        Kind::GatewayClass,
        Kind::ConfigMap,
        Kind::ServiceEntry,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::HttpRoute,
    ]),
    explains: &[
        "ML06", "ML07", "ML08", "ML09", "ML10", "ML4021", "ML4022", "ML4023", "ML4024", "ML4025",
        "ML4027", "ML4026", "ML4001",
    ],
    docs: include_str!("waypoint_not_bound.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|case| service(facts, case));
    let services = facts.mesh.objects.of_kind(Kind::Service).iter();
    let entries = facts.mesh.objects.of_kind(Kind::ServiceEntry).iter();
    for object in services.chain(entries) {
        let is_asked = match called {
            None => true,
            Some(called) => called.is_some_and(|called| called.id == object.id),
        };
        let is_headless = object.is(Kind::Service) && Service::of(object).is_headless();
        if !is_asked || is_headless || is_of_gateway(object) {
            continue;
        }
        out.examined();
        let WaypointBinding::Unbound { label, why } = facts.mesh.service_waypoint(object) else {
            continue;
        };
        if let Some(fact) = facts.unread(Kind::K8sGateway) {
            return out.unknown(fact);
        }
        // Of what only has sidecars or is outside, nobody goes through a waypoint.
        if case.is_none() && !serves_captured(facts, object) {
            continue;
        }
        tell(facts, case, object, label, why, out);
    }
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    object: &Object,
    label: WaypointLabel<'_>,
    why: Unbound<'_>,
    out: &mut Sink,
) {
    let (subject, what) = blamed(facts, label, why);
    if let Some(known) = out
        .findings
        .iter_mut()
        .find(|finding| finding.subject == subject)
    {
        hit_service(known, facts, object);
        return;
    }
    let message = format!(
        "traffic to {} goes past the waypoint {}/{}: {what}",
        object.id, label.namespace, label.name
    );
    let of_label = Evidence::of(label.object, label.node, "the label that names it");
    let (proof, also) = match gateway_of(why) {
        Some(gateway) => (of_gateway(gateway, why), Some(of_label)),
        None => (of_label, None),
    };
    let finding = out.find(subject, message, proof);
    hit_service(finding, facts, object);
    if let Some(evidence) = also {
        finding.see(evidence);
    }
    if let Some(bound) = condition(object) {
        finding.see(bound);
    }
    if let Some(case) = case {
        hit_ends(finding, case);
    } else {
        finding.severity(Severity::Warning);
    }
    match why {
        Unbound::OtherTraffic(gateway) => {
            let patch = Value::nested(["metadata", "labels", WAYPOINT_FOR], "service");
            finding.fix(Fix::merge(gateway.id(), patch));
        }
        Unbound::Missing => {
            let yaml = format!(
                "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: {}, namespace: {}}}\nspec:\n  gatewayClassName: {WAYPOINT_CLASS}\n  listeners: [{{name: mesh, port: 15008, protocol: HBONE}}]\n",
                label.name, label.namespace
            );
            let id = ObjectRef::of(Kind::K8sGateway, label.namespace, label.name);
            let fix = Fix::create(&id, yaml);
            finding.fix(fix.unchecked("istiod has to deploy it first"));
        }
        Unbound::NotReady(_) => {
            finding.fix(Fix::advice(
                "see why it has no address: its class, its revision, its Deployment",
            ));
        }
        Unbound::NotPermitted(_) => {
            finding.fix(Fix::advice("let its listener take routes of that namespace (allowedRoutes.namespaces.from: All)"));
        }
    }
}

/// The object to change: what names a waypoint that is not there, or the waypoint itself.
fn blamed(facts: &Facts<'_>, label: WaypointLabel<'_>, why: Unbound<'_>) -> (ObjectRef, String) {
    match why {
        Unbound::Missing => (
            label.object.id.clone(),
            format!("{} names it, and there is no such Gateway", label.object.id),
        ),
        Unbound::NotReady(gateway) => (gateway.id().clone(), not_ready(facts, gateway)),
        Unbound::NotPermitted(gateway) => (
            gateway.id().clone(),
            format!(
                "{} does not take what is in another namespace",
                gateway.id()
            ),
        ),
        Unbound::OtherTraffic(gateway) => (
            gateway.id().clone(),
            format!(
                "it is for traffic to {}s, and not to Services",
                facts.mesh.waypoint_for(gateway)
            ),
        ),
    }
}

fn not_ready(facts: &Facts<'_>, gateway: K8sGateway<'_>) -> String {
    let class = gateway.class_name().map_or("", |class| class.value);
    let is_known = facts
        .mesh
        .objects
        .get(Kind::GatewayClass, "", class)
        .is_some();
    let classes_known = !facts.mesh.objects.of_kind(Kind::GatewayClass).is_empty();
    if classes_known && !is_known {
        return format!(
            "{} is of class {class}, which nobody answers for",
            gateway.id()
        );
    }
    format!("{} has no address", gateway.id())
}

fn gateway_of(why: Unbound<'_>) -> Option<K8sGateway<'_>> {
    match why {
        Unbound::Missing => None,
        Unbound::NotReady(gateway)
        | Unbound::NotPermitted(gateway)
        | Unbound::OtherTraffic(gateway) => Some(gateway),
    }
}

fn of_gateway(gateway: K8sGateway<'_>, why: Unbound<'_>) -> Evidence {
    let object = gateway.object;
    let (part, shows) = match why {
        Unbound::OtherTraffic(_) => (
            object.labels().and_then(|labels| labels.get(WAYPOINT_FOR)),
            "which traffic it is for",
        ),
        Unbound::NotPermitted(_) => (object.spec_at(["listeners"]), "whom its listener takes"),
        _ => (
            gateway.class_name().map(|class| class.node),
            "its class; it has no address",
        ),
    };
    Evidence::of(object, part.unwrap_or(&object.node), shows)
}

/// What istiod wrote of it.
fn condition(object: &Object) -> Option<Evidence> {
    let conditions = object.node.at(["status", "conditions"])?.items();
    let bound = conditions
        .iter()
        .find(|condition| condition.str_at("type") == Some("istio.io/WaypointBound"))?;
    let shows = bound.str_at("message").unwrap_or("what istiod says of it");
    Some(Evidence::of(object, bound, shows))
}

/// A gateway's or waypoint's own Service is bound to none.
fn is_of_gateway(object: &Object) -> bool {
    object
        .label(meshladder_mesh::ambient::waypoint::MANAGED)
        .is_some()
}

fn serves_captured(facts: &Facts<'_>, object: &Object) -> bool {
    if object.is(Kind::ServiceEntry) {
        return true;
    }
    if Service::of(object).selector().is_none() {
        return false;
    }
    let pods = facts.mesh.selected_pods(object);
    pods.iter().any(|pod| is_captured(facts, pod))
}
