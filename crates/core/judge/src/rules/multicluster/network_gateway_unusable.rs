//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::networks::{GATEWAY_PORT, NETWORK, NetworkGateway};
use meshladder_mesh::views::{Gateway, K8sGateway, Service};
use meshladder_mesh::{Cluster, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML1203",
    name: "network-gateway-unusable",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every network has a gateway with an address and the port that other networks call",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::Pod,
        Kind::Gateway,
        Kind::K8sGateway,
        Kind::ConfigMap,
        Kind::Secret,
    ])
    .and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("network_gateway_unusable.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let Some(network) = pair.crossed_network() else {
            continue;
        };
        out.examined();
        let is_given = is_configured(pair.from, network) || has_gateway_api(pair.to, network);
        if is_given || !pair.gateways().is_empty() {
            continue;
        }
        report(crossing, &pair, network, out);
    }
}

fn report(crossing: &Crossing<'_>, pair: &Pair<'_>, network: &str, out: &mut Sink) {
    let Pair { from, to, .. } = *pair;
    let own = to.mesh.network_gateways();
    let comes_of_it = format!(
        "so istiod in {} knows no gateway of {network} and leaves the pods' own addresses, which {} does not reach",
        from.name, from.name
    );
    if let Some(gateway) = own.iter().find(|gateway| gateway.network == network) {
        let finding = of_service(crossing, to, gateway, &comes_of_it, out);
        say_known(finding, from, network);
        return;
    }
    let Some(service) = gateway_service(to) else {
        let named = from.mesh.network_gateways();
        let named = named.first().map(|gateway| gateway.service.id());
        let subject = named.cloned().unwrap_or_else(|| {
            let namespace = &to.mesh.config.root_namespace;
            ObjectRef::of(Kind::Service, namespace, "istio-eastwestgateway")
        });
        let message = format!(
            "{} has no gateway Service for {network}, {comes_of_it}",
            to.name
        );
        let proof = joint::list_of(
            to,
            Kind::Service,
            format!("no Service has {NETWORK}={network}"),
        );
        let finding = crossing.find(out, to, subject, message, proof);
        say_known(finding, from, network);
        return;
    };
    let id = service.id();
    let (what, node) = match service.object.label(NETWORK) {
        Some(other) => (
            format!("is labelled {NETWORK}={other}"),
            service.object.labels(),
        ),
        None => (
            format!("lacks the label {NETWORK}"),
            service.object.labels(),
        ),
    };
    let message = format!("{id}, which leads to the gateway of {network}, {what}, {comes_of_it}");
    let node = node.unwrap_or(&service.object.node);
    let proof = joint::of(
        to,
        Evidence::of(service.object, node, "the labels of the gateway's Service"),
    );
    let patch = Value::nested(["metadata", "labels", NETWORK], network);
    let finding = crossing.find(out, to, id.clone(), message, proof);
    finding.fix(Fix::merge(id, patch));
    say_known(finding, from, network);
}

/// A Service that says it is the gateway, and is none that istiod can use.
fn of_service<'s>(
    crossing: &Crossing<'_>,
    to: &Cluster,
    gateway: &NetworkGateway<'_>,
    comes_of_it: &str,
    out: &'s mut Sink,
) -> &'s mut Finding {
    let (service, id) = (gateway.service, gateway.service.id());
    if gateway.service_port().is_none() {
        let message = format!(
            "{id}, the gateway of {}, has no port {}, {comes_of_it}",
            gateway.network, gateway.port
        );
        let node = service
            .object
            .spec_at(["ports"])
            .unwrap_or(&service.object.node);
        let proof = joint::of(to, Evidence::of(service.object, node, "its ports"));
        let finding = crossing.find(out, to, id.clone(), message, proof);
        // The port that leads where the gateway listens is the one that was meant.
        let meant = service.ports().find(|port| {
            let target = port.target_port.and_then(meshladder_mesh::services::number);
            target == Some(gateway.port)
        });
        if let Some(port) = meant {
            let number = port.number.to_string();
            let patch = Value::nested(["metadata", "labels", GATEWAY_PORT], number.as_str());
            finding.fix(Fix::merge(id, patch));
        }
        return finding;
    }
    let message = format!(
        "{id}, the gateway of {}, has no address yet, {comes_of_it}",
        gateway.network
    );
    let node = service
        .object
        .node
        .get("status")
        .unwrap_or(&service.object.node);
    let proof = joint::of(
        to,
        Evidence::of(service.object, node, "no address was assigned"),
    );
    let finding = crossing.find(out, to, id.clone(), message, proof);
    if let Some(class) = service.object.spec_at(["loadBalancerClass"]) {
        let shows = "the controller that is to assign one";
        finding.see(joint::of(to, Evidence::of(service.object, class, shows)));
    }
    finding.fix(Fix::look(shell::command(
        "kubectl describe service {} -n {}",
        &[&id.name, &id.namespace],
    )))
}

/// What the caller's istiod knows of the network.
fn say_known(finding: &mut Finding, from: &Cluster, network: &str) {
    let Some((doc, known)) = joint::known_gateways(from) else {
        return;
    };
    if known.iter().all(|gateway| gateway.network != network) {
        let shows = format!("the gateways that istiod in {} knows", from.name);
        finding.see(joint::of(from, Evidence::offset(&doc, 0, shows)));
    }
}

/// The Service of the pods that pass connections on by their SNI.
fn gateway_service(cluster: &Cluster) -> Option<Service<'_>> {
    let mesh = &cluster.mesh;
    let pods = joint::passing_gateways(cluster)
        .into_iter()
        .flat_map(|gateway: Gateway<'_>| mesh.gateway_pods(gateway.object));
    pods.flat_map(|pod| mesh.services_of(pod))
        .map(Service::of)
        .next()
}

/// Whether `meshNetworks` says where the network's gateway is.
fn is_configured(from: &Cluster, network: &str) -> bool {
    let Some(networks) = &from.mesh.config.networks else {
        return false;
    };
    let gateways = networks.tree.at(["networks", network, "gateways"]);
    gateways.is_some_and(|gateways| !gateways.items().is_empty())
}

/// Whether a Gateway of the Gateway API is the network's, as in ambient mode.
fn has_gateway_api(to: &Cluster, network: &str) -> bool {
    K8sGateway::all(&to.mesh.objects).any(|gateway| {
        let addresses = gateway.object.node.at(["status", "addresses"]);
        gateway.object.label(NETWORK) == Some(network)
            && !addresses.map_or(&[][..], Node::items).is_empty()
    })
}
