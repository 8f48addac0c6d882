//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::views::Gateway;
use meshladder_mesh::{Cluster, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1205",
    name: "gateway-without-listener",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a Gateway has the gateway of a network pass connections on by their SNI",
    needs: Inputs::of(&[Kind::Service, Kind::Gateway, Kind::Pod, Kind::Namespace]),
    uses: Inputs::of(&[Kind::K8sGateway, Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("gateway_without_listener.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let Some((pod, port)) = pair.gateway_pods().into_iter().next() else {
            continue;
        };
        out.examined();
        let is_open = joint::passing_gateways(pair.to).iter().any(|gateway| {
            gateway.configures(pod)
                && gateway
                    .servers()
                    .any(|server| server.port == port && joint::passes_by_sni(&server))
        });
        // Gateways of the Gateway API are compiled into servers of their own.
        let is_of_api = pod
            .label("gateway.networking.k8s.io/gateway-name")
            .is_some();
        if !is_open && !is_of_api {
            report(crossing, &pair, pod, port, out);
        }
    }
}

fn report(crossing: &Crossing<'_>, pair: &Pair<'_>, pod: &Object, port: u16, out: &mut Sink) {
    let to = pair.to;
    let comes_of_it = format!(
        "so {} does not pass on what comes to {port} from {}",
        pod.id, pair.from.name
    );
    let Some((gateway, what, node)) = nearest(to, pod, port) else {
        let namesake = joint::passing_gateways(pair.from);
        let subject = namesake.first().map_or_else(
            || ObjectRef::of(Kind::Gateway, &pod.id.namespace, "cross-network-gateway"),
            |gateway| gateway.id().clone(),
        );
        let message = format!(
            "{} has no Gateway with a server of tls.mode AUTO_PASSTHROUGH on port {port}, {comes_of_it}",
            to.name
        );
        let proof = joint::list_of(to, Kind::Gateway, "no Gateway has such a server");
        let finding = crossing.find(out, to, subject.clone(), message, proof);
        if let Some(own) = namesake.first() {
            let spec = own.object.spec().unwrap_or(&own.object.node);
            let shows = format!("the Gateway of {}", pair.from.name);
            finding.see(joint::of(pair.from, Evidence::of(own.object, spec, shows)));
        }
        let yaml = format!(
            "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {{name: {}, namespace: {}}}\nspec:\n  selector: {{{}}}\n  servers:\n  - port: {{number: {port}, name: tls, protocol: TLS}}\n    tls: {{mode: AUTO_PASSTHROUGH}}\n    hosts: ['*.local']",
            subject.name,
            subject.namespace,
            selector(pod)
        );
        finding.fix(Fix::create(&subject, yaml));
        return;
    };
    let id = gateway.id();
    let message = format!("{id} {what}, {comes_of_it}");
    let proof = joint::of(to, Evidence::of(gateway.object, node, what));
    crossing.find(out, to, id.clone(), message, proof);
}

/// The Gateway that comes nearest: it passes on by SNI, but not here, or it is here, but does not
/// pass on.
fn nearest<'m>(
    cluster: &'m Cluster,
    pod: &Object,
    port: u16,
) -> Option<(Gateway<'m>, String, &'m Node)> {
    for gateway in joint::passing_gateways(cluster) {
        let node = gateway
            .object
            .spec_at(["selector"])
            .unwrap_or(&gateway.object.node);
        if !gateway.configures(pod) {
            return Some((gateway, format!("does not select {}", pod.id), node));
        }
        if let Some(server) = gateway.servers().find(joint::passes_by_sni) {
            let what = format!("passes connections on at port {}, not {port}", server.port);
            return Some((gateway, what, server.node));
        }
    }
    for gateway in Gateway::all(&cluster.mesh.objects).filter(|gateway| gateway.configures(pod)) {
        if let Some(server) = gateway.servers().find(|server| server.port == port) {
            let mode = server.tls_mode.unwrap_or("none");
            let what = format!("has tls.mode {mode} on port {port}, not AUTO_PASSTHROUGH");
            let node = server.node.get("tls").unwrap_or(server.node);
            return Some((gateway, what, node));
        }
    }
    None
}

/// The label by which gateways are usually selected.
fn selector(pod: &Object) -> String {
    let key = ["istio", "app"]
        .into_iter()
        .find(|key| pod.label(key).is_some());
    key.map(|key| format!("{key}: {}", pod.label(key).unwrap_or_default()))
        .unwrap_or_default()
}
