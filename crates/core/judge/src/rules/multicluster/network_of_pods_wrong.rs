//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::networks::NETWORK;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML1204",
    name: "network-of-pods-wrong",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the pods of a cluster are in the network that its gateway is for",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Secret,
        Kind::ConfigMap,
        Kind::ReplicaSet,
        Kind::Deployment,
    ])
    .and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("network_of_pods_wrong.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let Some(own) = pair.callers_network() else {
            continue;
        };
        let gateways = pair.to.mesh.network_gateways();
        let Some(meant) = gateways.first().map(|gateway| gateway.network) else {
            continue;
        };
        out.examined();
        // A cluster of the caller's own network is reached directly.
        if meant == own {
            continue;
        }
        match pair.servers().first() {
            Some(pod) => of_pod(crossing, &pair, pod, meant, own, out),
            None if pair.service.is_none() => of_namespace(crossing, &pair, meant, own, out),
            None => {}
        }
    }
}

/// Pods that are called: in which network istiod takes them to be.
fn of_pod(
    crossing: &Crossing<'_>,
    pair: &Pair<'_>,
    pod: &Object,
    meant: &str,
    own: &str,
    out: &mut Sink,
) {
    let to = pair.to;
    let network = to.mesh.network_of(pod);
    let is_gatewayed = |network: &str| {
        let gateways = to.mesh.network_gateways();
        gateways.iter().any(|gateway| gateway.network == network)
    };
    if network.is_some_and(|network| network != own && is_gatewayed(network)) {
        return;
    }
    let Some(label) = pod.label(NETWORK).filter(|label| !label.is_empty()) else {
        of_namespace(crossing, pair, meant, own, out);
        return;
    };
    // A network that is not the caller's and has no gateway is the gateway's matter, unless the
    // cluster itself says that the pods are in another.
    if label != own && to.mesh.network() != Some(meant) {
        return;
    }
    let subject = to
        .mesh
        .workload_of(pod)
        .map_or(&pod.id, |workload| &workload.id);
    let message = format!(
        "{} says it is in {label}, while the gateway of {} is for {meant}: callers in {} are given its own address, which they do not reach",
        pod.id, to.name, pair.from.name
    );
    let node = pod.labels().unwrap_or(&pod.node);
    let proof = joint::of(
        to,
        Evidence::of(pod, node, "the network that it says it is in"),
    );
    crossing
        .find(out, to, subject.clone(), message, proof)
        .fix(Fix::advice(format!(
            "take the label {NETWORK}={label} out of the template, or make it {meant}, and restart it"
        )));
}

/// The network of the whole cluster.
fn of_namespace(crossing: &Crossing<'_>, pair: &Pair<'_>, meant: &str, own: &str, out: &mut Sink) {
    let to = pair.to;
    let network = to.mesh.network();
    if network.is_some_and(|network| network != own) {
        return;
    }
    // Without a request: pods that say their network themselves need no namespace to say it.
    if pair.service.is_none() && network.is_none() {
        return;
    }
    let root = &*to.mesh.config.root_namespace;
    let id = ObjectRef::of(Kind::Namespace, "", root);
    let said = network.map_or_else(
        || format!("lacks the label {NETWORK}"),
        |network| format!("says the network {network}"),
    );
    let message = format!(
        "{id} {said}, while the gateway of {} is for {meant}: callers in {} are given the pods' own addresses, which they do not reach",
        to.name, pair.from.name
    );
    let proof = match to.mesh.objects.get(Kind::Namespace, "", root) {
        Some(namespace) => {
            let node = namespace.labels().unwrap_or(&namespace.node);
            joint::of(
                to,
                Evidence::of(namespace, node, "the labels of the system namespace"),
            )
        }
        None => joint::list_of(to, Kind::Namespace, "the system namespace is not there"),
    };
    let patch = Value::nested(["metadata", "labels", NETWORK], meant);
    crossing
        .find(out, to, id.clone(), message, proof)
        .fix(Fix::merge(&id, patch));
}
