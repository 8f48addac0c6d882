//! See the page beside this file.

use super::effect::{self, authority, gateway, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Mesh;
use meshladder_mesh::services::number;
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0611",
    name: "answered-by-route",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "the request's route leads to a Service instead of answering by itself",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &["ML10"],
    docs: include_str!("answered_by_route.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let client = sidecar(mesh, case);
    let call = RouteCall::of(case, client);
    to_https(mesh, case, out);
    for service in serving(mesh, case, client) {
        out.examined();
        let Taken::Route(place, route) = call.takes(service) else {
            continue;
        };
        let (node, key, code) = match (route.get("directResponse"), route.get("redirect")) {
            (Some(node), _) => (
                node,
                "directResponse",
                node.get("status").and_then(number).unwrap_or(200),
            ),
            (_, Some(node)) => (
                node,
                "redirect",
                node.get("redirectCode").and_then(number).unwrap_or(301),
            ),
            _ => continue,
        };
        let is_loop = key == "redirect" && leads_back(node, case, &call);
        let does = match key {
            "redirect" if is_loop => "sends the client back to the very same URL".to_owned(),
            "redirect" => format!("sends the client elsewhere with {code}"),
            _ => format!("answers {code} by itself"),
        };
        let message = format!("{} {does}: no Service gets the request", service.id);
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, node, "what the proxy answers"),
        );
        finding.hits.extend(client.map(|pod| pod.id.clone()));
        finding.severity(severity(case, code, is_loop));
        finding.fix(Fix::patch(
            &service.id,
            [Op::remove(format!("/spec/http/{place}"))],
        ));
        finding.fix(Fix::advice(format!(
            "give the route a destination in place of its {key}"
        )));
    }
}

/// A server of a Gateway that sends all who come in plain text to HTTPS.
fn to_https(mesh: &Mesh, case: &Case<'_>, out: &mut Sink) {
    let plain = case.call.to.scheme == Scheme::Http;
    let Some(pod) = gateway(mesh, case).filter(|_| plain) else {
        return;
    };
    let Some(server) = mesh.server_for(pod, case.call.to.port, &authority(case)) else {
        return;
    };
    out.examined();
    let node = server
        .node
        .at(["tls", "httpsRedirect"])
        .filter(|node| node.value == Value::Bool(true));
    let Some(node) = node else { return };
    let gateway = server.gateway;
    let message = format!(
        "{} sends requests to port {} on to HTTPS with 301: no Service gets them",
        gateway.id, server.port
    );
    let finding = out.find(
        gateway.id.clone(),
        message,
        Evidence::of(gateway, node, "httpsRedirect"),
    );
    finding.hits(pod.id.clone());
    finding.severity(severity(case, 301, false));
    finding.fix(Fix::advice(format!("call https://{}", authority(case))));
    finding.fix(Fix::advice(
        "behind a load balancer that ends TLS itself this goes in circles: take httpsRedirect out, or let the load \
         balancer redirect",
    ));
}

/// An answer that is an error is one; a redirect is what somebody wanted, unless it is what was
/// asked about.
fn severity(case: &Case<'_>, code: u16, is_loop: bool) -> Severity {
    let seen = case.seen.map(|seen| seen.code);
    if seen.is_some_and(|seen| seen != code) {
        Severity::Info
    } else if is_loop || code >= 400 {
        Severity::Error
    } else if seen.is_some() {
        Severity::Warning
    } else {
        Severity::Info
    }
}

/// Whether a redirect leads to where the client comes from.
fn leads_back(redirect: &Node, case: &Case<'_>, call: &RouteCall<'_>) -> bool {
    let same = |key: &str, own: &str| redirect.str_at(key).is_none_or(|to| to == own);
    let port = redirect.get("port").map(Node::to_json);
    same("uri", call.path)
        && same("scheme", call.scheme)
        && same("authority", &authority(case))
        && port.is_none_or(|port| port == call.port.to_string())
}
