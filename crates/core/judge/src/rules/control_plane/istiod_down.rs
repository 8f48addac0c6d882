//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Finding, Fix, Risk, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::services::{is_ready, number};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

/// Proxies go on with what they have, so it shows late: at the next pod, the next change, the next
/// certificate.
pub(super) static RULE: Rule = Rule {
    code: "ML0201",
    name: "istiod-down",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "every istiod that proxies rely on has a ready pod",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::Service,
        Kind::Event,
        Kind::MutatingWebhook,
        Kind::ConfigMap,
    ])
    .and(&[Part::Logs, Part::Proxies]),
    explains: &["ML0202", "ML03", "ML04", "ML07", "ML10"],
    docs: include_str!("istiod_down.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let all = istiods(facts);
    if all.is_empty() && is_missed(facts) {
        // Whether there should be one, only the Deployments tell.
        out.unknown.extend(facts.unread(Kind::Deployment));
    }
    let (down, up): (Vec<&Object>, Vec<&Object>) =
        all.into_iter().partition(|d| !has_ready_pod(facts, d));
    out.examined += up.len();
    for deployment in down {
        out.examined();
        let users = users(facts, deployment);
        // One of a revision that nobody uses may stay down.
        let is_used = !users.is_empty() || names_it(facts, deployment);
        if is_used || up.is_empty() {
            tell(facts, deployment, &users, up.is_empty(), out);
        }
    }
}

/// Whether there is a Service of istiod and no pod of it is ready.
fn is_missed(facts: &Facts<'_>) -> bool {
    let selects = |service: &Object| {
        service.spec_at(["selector", "app"]).and_then(Node::str) == Some("istiod")
    };
    facts
        .mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .any(selects)
        && !facts.mesh.istiods(None).iter().any(|pod| is_ready(pod))
}

/// The Deployments of istiod; where they cannot be read, the ReplicaSets that they made last.
fn istiods<'f>(facts: &Facts<'f>) -> Vec<&'f Object> {
    let all = |kind: Kind| {
        facts
            .mesh
            .objects
            .of_kind(kind)
            .iter()
            .filter(|object| is_istiod(object))
    };
    if facts.unread(Kind::Deployment).is_none() {
        return all(Kind::Deployment).collect();
    }
    let mut newest: BTreeMap<ObjectRef, &Object> = BTreeMap::new();
    for made in all(Kind::ReplicaSet) {
        let known = newest.entry(maker(made)).or_insert(made);
        if generation(made) > generation(known) {
            *known = made;
        }
    }
    newest.into_values().collect()
}

/// The Deployment that made a ReplicaSet; the object itself when nothing made it.
fn maker(object: &Object) -> ObjectRef {
    let owner = object
        .node
        .at(["metadata", "ownerReferences"])
        .and_then(|owners| owners.items().first());
    let name = owner
        .filter(|owner| owner.str_at("kind") == Some("Deployment"))
        .and_then(|owner| owner.str_at("name"));
    name.map_or_else(
        || object.id.clone(),
        |name| ObjectRef::of(Kind::Deployment, &object.id.namespace, name),
    )
}

/// The later of two ReplicaSets of a Deployment has the higher number.
fn generation(object: &Object) -> u64 {
    let number = object.annotation("deployment.kubernetes.io/revision");
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

fn is_istiod(deployment: &Object) -> bool {
    let of_template = deployment
        .spec_at(["template", "metadata", "labels", "app"])
        .and_then(Node::str);
    deployment.label("app") == Some("istiod") || of_template == Some("istiod")
}

fn has_ready_pod(facts: &Facts<'_>, deployment: &Object) -> bool {
    let selector = deployment.spec_at(["selector"]);
    let pods = facts
        .mesh
        .objects
        .in_namespace(Kind::Pod, &deployment.id.namespace);
    pods.filter(|pod| selector.is_some_and(|selector| pod.accepted_by(selector)))
        .any(is_ready)
}

fn revision(deployment: &Object) -> &str {
    deployment.label("istio.io/rev").unwrap_or("default")
}

/// The pods whose proxies were injected for its revision.
fn users<'f>(facts: &Facts<'f>, deployment: &Object) -> Vec<&'f PodFacts> {
    let own = revision(deployment);
    let of_revision = |pod: &&PodFacts| {
        let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        pod.has_proxy
            && stored
                .and_then(|pod| pod.annotation("istio.io/rev"))
                .unwrap_or("default")
                == own
    };
    facts.mesh.pods.iter().filter(of_revision).collect()
}

/// Whether an injector of its revision is left.
fn names_it(facts: &Facts<'_>, deployment: &Object) -> bool {
    facts
        .mesh
        .injectors()
        .webhooks
        .iter()
        .any(|hook| hook.revision.unwrap_or("default") == revision(deployment))
}

fn tell(
    facts: &Facts<'_>,
    deployment: &Object,
    users: &[&PodFacts],
    is_last: bool,
    out: &mut Sink,
) {
    let id = maker(deployment);
    let replicas = deployment.spec_at(["replicas"]);
    let wanted = replicas.and_then(number).unwrap_or(1);
    let how = match wanted {
        0 => "is scaled to zero".to_owned(),
        1 => "has no ready pod".to_owned(),
        wanted => format!("has none of its {wanted} pods ready"),
    };
    let ailment = ailment(facts, deployment);
    let why = ailment
        .as_ref()
        .map(|(why, _)| format!(" ({why})"))
        .unwrap_or_default();
    let message = format!(
        "istiod is down: {id} {how}{why}, so proxies keep what they have, new pods are refused and no change is taken"
    );
    let (part, shows) = match (replicas, deployment.node.get("status")) {
        (Some(replicas), _) if wanted == 0 => (replicas, "no pod is wanted"),
        (_, Some(status)) => (status, "no pod is ready"),
        _ => (&deployment.node, "no pod is ready"),
    };
    let finding = out.find(id.clone(), message, Evidence::of(deployment, part, shows));
    let is_short_of_memory = ailment.as_ref().is_some_and(|(why, _)| why == "OOMKilled");
    finding.evidence.extend(ailment.map(|(_, proof)| proof));
    if !is_last {
        finding.hits.extend(users.iter().map(|pod| pod.reference()));
    }
    consequences(facts, finding);
    if wanted == 0 {
        let fix = Fix::merge(&id, Value::nested(["spec", "replicas"], 1_u16));
        finding.fix(fix.unchecked("it is only repaired once a pod of istiod is ready"));
    } else {
        let (namespace, name) = (&id.namespace, &id.name);
        if is_short_of_memory {
            finding.fix(Fix::advice(
                "raise the memory limit of istiod, or have it see less: discoverySelectors, Sidecars",
            ));
        }
        finding.fix(Fix::look(shell::command(
            "kubectl describe deployment {} -n {}",
            &[name, namespace],
        )));
        finding.fix(Fix::look(shell::command(
            "kubectl logs deployment/{} -n {} --previous",
            &[name, namespace],
        )));
        let restart = shell::command(
            "kubectl rollout restart deployment/{} -n {}",
            &[name, namespace],
        );
        finding.fix(Fix::command(Risk::Disruptive, restart));
    }
}

/// What ails a pod of istiod, by its status: why its container ended or waits, or why it has no
/// node.
fn ailment(facts: &Facts<'_>, deployment: &Object) -> Option<(String, Evidence)> {
    let selector = deployment.spec_at(["selector"])?;
    let pods = facts
        .mesh
        .objects
        .in_namespace(Kind::Pod, &deployment.id.namespace);
    pods.filter(|pod| pod.accepted_by(selector) && !is_ready(pod))
        .find_map(|pod| {
            let list = |key: &str| pod.node.at(["status", key]).map_or(&[][..], Node::items);
            let statuses = || {
                list("initContainerStatuses")
                    .iter()
                    .chain(list("containerStatuses"))
            };
            let reason = |path: [&'static str; 3]| statuses().find_map(|status| status.at(path));
            let ended = reason(["lastState", "terminated", "reason"])
                .filter(|why| why.str() != Some("Completed"));
            let waits = reason(["state", "waiting", "reason"])
                .filter(|why| why.str() != Some("ContainerCreating"));
            let homeless = list("conditions").iter().find(|condition| {
                condition.str_at("type") == Some("PodScheduled")
                    && condition.str_at("status") == Some("False")
            });
            let node = ended
                .or(waits)
                .or_else(|| homeless.and_then(|condition| condition.get("message")))?;
            Some((
                node.str()?.trim_end_matches('.').to_owned(),
                Evidence::of(pod, node, "what ails its pod"),
            ))
        })
}

/// What it has done already: pods that were refused, streams that were lost.
fn consequences(facts: &Facts<'_>, finding: &mut Finding) {
    const SHOWN: usize = 2;
    let refused = facts
        .mesh
        .objects
        .of_kind(Kind::Event)
        .iter()
        .filter(|event| {
            let message = event.node.str_at("message").unwrap_or_default();
            event.node.str_at("reason") == Some("FailedCreate")
                && message.contains("failed calling webhook")
        });
    for event in refused.take(SHOWN) {
        let message = event.node.get("message").unwrap_or(&event.node);
        finding.see(Evidence::of(
            event,
            message,
            "a pod that could not be created",
        ));
    }
    let lost = facts
        .fleet
        .proxies
        .values()
        .filter_map(|summary| summary.trouble.last());
    for (doc, line, _) in lost
        .filter(|(_, _, text)| text.contains("xds-grpc closed"))
        .take(SHOWN)
    {
        finding.see(Evidence::line(doc, *line, "a proxy that lost its stream"));
    }
}
