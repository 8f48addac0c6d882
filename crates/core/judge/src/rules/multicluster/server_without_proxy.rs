//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::views::{Namespace, Pod, PodTemplate};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML1213",
    name: "server-without-proxy",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "pods that other networks call have a proxy",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::ConfigMap,
        Kind::Secret,
        Kind::ReplicaSet,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::MutatingWebhook,
    ])
    .and(&[Part::Istiod]),
    explains: &["ML03", "ML07", "ML08", "ML10"],
    docs: include_str!("server_without_proxy.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        if pair.crossed_network().is_none() {
            continue;
        }
        let to = pair.to;
        let servers = pair.servers();
        let Some(&pod) = servers
            .iter()
            .find(|pod| !Pod::of(pod).is_in_mesh(&to.mesh))
        else {
            continue;
        };
        out.examined();
        let (object, why) = decided(&to.mesh, pod);
        let message = format!(
            "{} in {} has no proxy, and what comes through the gateway needs one, so callers in {} are not given it: {why}",
            pod.id, to.name, pair.from.name
        );
        let node = object.labels().unwrap_or(&object.node);
        let proof = joint::of(to, Evidence::of(object, node, "what decides on injection"));
        let containers = pod.spec_at(["containers"]).unwrap_or(&pod.node);
        let bare = Evidence::of(pod, containers, format!("{} has no istio-proxy", pod.id));
        crossing
            .find(out, to, object.id.clone(), message, proof)
            .see(joint::of(to, bare))
            .fix(Fix::advice("have the pods injected, and restart them"));
    }
}

/// The object that keeps a pod without a proxy, and how.
fn decided<'m>(mesh: &'m Mesh, pod: &'m Object) -> (&'m Object, String) {
    let workload = mesh.workload_of(pod).unwrap_or(pod);
    let Some(template) = PodTemplate::of(workload).or_else(|| PodTemplate::of(pod)) else {
        return (workload, "nothing asks for one".to_owned());
    };
    let injection = mesh.injectors().injection(template);
    if injection.expected == Tri::Yes {
        let why = "it was made before injection was on, or while no webhook answered";
        return (workload, why.to_owned());
    }
    let by = injection.decided_by;
    let namespace = mesh.objects.get(Kind::Namespace, "", &pod.id.namespace);
    match namespace {
        // What a webhook's selector says of a namespace is for the namespace to answer.
        Some(namespace)
            if template.inject().is_none() && !Namespace::of(namespace).asks_for_proxies() =>
        {
            let why = format!("{} does not ask for injection", namespace.id);
            (namespace, why)
        }
        _ if by.object.id.is(Kind::Pod) => (workload, by.what),
        _ => (by.object, by.what),
    }
}
