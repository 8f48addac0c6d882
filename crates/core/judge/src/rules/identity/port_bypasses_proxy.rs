//! See the page beside this file.

use super::servers;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service::{self, CalledService};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::services::{ports, target_port};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_sim::listener::{Capture, TrafficDirection};
use meshladder_sim::request::Connection;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0814",
    name: "port-bypasses-proxy",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "no call that needs a proxy is taken out of its hands",
    needs: Inputs::of(&[Kind::Pod, Kind::Service]),
    uses: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
    ]),
    explains: &["ML0817", "ML10"],
    docs: include_str!("port_bypasses_proxy.md"),
    check: Check::Either(check),
};

const INBOUND: [&str; 2] = [
    "traffic.sidecar.istio.io/excludeInboundPorts",
    "traffic.sidecar.istio.io/includeInboundPorts",
];
const OUTBOUND: [&str; 3] = [
    "traffic.sidecar.istio.io/excludeOutboundPorts",
    "traffic.sidecar.istio.io/excludeOutboundIPRanges",
    "traffic.sidecar.istio.io/includeOutboundIPRanges",
];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if let Some(case) = case {
        outbound(facts, case, out);
    }
    if case.is_some_and(|case| case.seen.is_some_and(Symptom::is_success)) {
        return;
    }
    // A client without a proxy sends plain text, which is what the application takes.
    if case.is_some_and(|case| case.client.is_some_and(|client| !client.has_proxy)) {
        return;
    }
    for called in called_service::services(facts, case) {
        out.examined();
        inbound(facts, case, &called, out);
    }
}

/// Clients send mutual TLS to a pod that has a proxy, and here only the application gets it.
fn inbound(facts: &Facts<'_>, case: Option<&Case<'_>>, called: &CalledService<'_>, out: &mut Sink) {
    let client = case.and_then(|case| called_service::client_scope(facts, case));
    for pod in called.pods(facts.mesh, None) {
        let wanted = ports(called.service)
            .filter(|port| called.port.is_none_or(|number| number == port.number));
        let mut led = wanted.filter_map(|port| Some((port.number, target_port(&port, pod)?)));
        let left_out = led.find_map(|(number, port)| Some((number, port, left_out(pod, port)?)));
        let Some((number, port, (key, node))) = left_out else {
            continue;
        };
        let scope = client.unwrap_or_else(|| facts.mesh.namespace_scope(&pod.id.namespace));
        let rule = facts.mesh.destination_rule(scope, &called.host(facts));
        let says = rule
            .as_ref()
            .and_then(|rule| rule.setting("tls", number, None));
        let is_plain = says.is_some_and(|(_, tls)| tls.str_at("mode") == Some("DISABLE"));
        // The label tells clients that a pod takes mutual TLS.
        if is_plain || pod.label("security.istio.io/tlsMode") != Some("istio") {
            continue;
        }
        let subject = called_service::workload_ref(facts.mesh, pod);
        let message = format!(
            "{subject} keeps port {port} from its proxy, so nobody takes the mutual TLS that clients of {} send there",
            called.service.id
        );
        let finding = out.find(
            subject.clone(),
            message,
            Evidence::of(pod, node, "ports that bypass the proxy"),
        );
        called_service::hit(finding, called.service, &[pod], case);
        if case.is_none() {
            finding.severity(Severity::Warning);
        }
        finding.fix(drop_annotation(&subject, key));
        let host = called.host(facts);
        finding.fix(Fix::advice(format!(
            "or tell clients: a DestinationRule for {host} with tls mode DISABLE on port {number}"
        )));
        return;
    }
}

/// The annotation that keeps an inbound port from the proxy: it leaves the port out, or names only
/// others.
fn left_out(pod: &Object, port: u16) -> Option<(&'static str, &Node)> {
    let [exclude, include] = INBOUND;
    let excluded = annotation(pod, exclude).filter(|(text, _)| lists(text, port));
    let not_included = || annotation(pod, include).filter(|(text, _)| !lists(text, port));
    excluded
        .map(|(_, node)| (exclude, node))
        .or_else(|| not_included().map(|(_, node)| (include, node)))
}

/// The client's own calls leave as if it had no proxy.
fn outbound(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = case.client.filter(|client| client.has_proxy) else {
        return;
    };
    let Some(pod) = facts
        .mesh
        .objects
        .get(Kind::Pod, &client.namespace, &client.name)
    else {
        return;
    };
    let Some((key, node)) = bypassed(pod, case) else {
        return;
    };
    let strict = servers::of_request(facts, case)
        .into_iter()
        .find(|server| server.mode.mode == MutualTls::Strict);
    let works = case.seen.is_some_and(Symptom::is_success);
    let harm = match &strict {
        Some(server) if !works => {
            format!(
                "so they leave in plain text, and {} takes only mutual TLS",
                called_service::workload_ref(facts.mesh, server.pod)
            )
        }
        _ => "so no route, no mutual TLS and no retry of the mesh acts on them".to_owned(),
    };
    let subject = client.workload();
    let (host, port) = (&case.host, case.call.to.port);
    let message =
        format!("{subject} keeps its calls to {host}:{port} from its proxy ({key}), {harm}");
    let finding = out.find(
        subject.clone(),
        message,
        Evidence::of(pod, node, "what bypasses the proxy"),
    );
    finding.hits(client.reference());
    match strict.filter(|_| !works) {
        Some(server) => {
            finding.hits(server.pod.id.clone());
            if let Some((policy, mode)) = server.mode.by {
                finding.see(Evidence::of(policy, mode, "only mutual TLS is taken"));
            }
        }
        // It may well be meant so; who asks about such a call should know.
        None => {
            finding.severity(if works {
                Severity::Warning
            } else {
                Severity::Info
            });
        }
    }
    finding.fix(drop_annotation(&subject, key));
}

/// The annotation without which the call would go through the proxy.
pub(in crate::rules) fn bypassed<'m>(
    pod: &'m Object,
    case: &Case<'_>,
) -> Option<(&'static str, &'m Node)> {
    let address = case.call.to.host.parse().ok();
    let address = address.or_else(|| case.service?.cluster_ips.first().copied())?;
    let call = Connection {
        destination: (address, case.call.to.port),
        source: None,
        tls: None,
        plain_http: None,
    };
    let value = |key: &str| annotation(pod, key).map(|(text, _)| text.to_owned());
    let leaves = |capture: Capture| {
        capture
            .leaves_alone(TrafficDirection::Outbound, &call)
            .is_some()
    };
    let decides = |key: &&str| {
        !leaves(Capture::of_annotations(|other| {
            value(other).filter(|_| other != *key)
        }))
    };
    if !leaves(Capture::of_annotations(value)) {
        return None;
    }
    let key = OUTBOUND.into_iter().find(decides)?;
    Some((key, annotation(pod, key)?.1))
}

fn annotation<'m>(pod: &'m Object, key: &str) -> Option<(&'m str, &'m Node)> {
    let node = pod.node.at(["metadata", "annotations", key])?;
    Some((node.str()?, node))
}

fn lists(text: &str, port: u16) -> bool {
    text.split(',')
        .any(|one| one.trim() == "*" || one.trim().parse() == Ok(port))
}

/// The pods change when their workload's template does.
pub(in crate::rules) fn drop_annotation(workload: &ObjectRef, key: &str) -> Fix {
    let path = ["spec", "template", "metadata", "annotations", key];
    let patch = Value::nested(path, Value::Null);
    Fix::merge(workload, patch).unchecked("it shows when the pod is made again")
}
