//! See the page beside this file.

use super::called_service;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::ports;
use meshladder_sim::trace::EndKind;

pub(super) static RULE: Rule = Rule {
    code: "ML0717",
    name: "pod-name-without-route",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a pod's own name under a headless Service has a route",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("pod_name_without_route.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some((pod, service)) = headless(facts, case) else {
        return;
    };
    out.examined();
    let number = case.call.to.port;
    let Some(port) = ports(service).find(|port| port.number == number && port.protocol.is_http())
    else {
        return;
    };
    let no_route = case.ends(EndKind::NoRoute).next().is_some()
        || case.seen.is_some_and(|seen| seen.has("NR"));
    if !no_route {
        return;
    }
    let message = format!(
        "{} calls {pod} by its own name under the headless {}, and the proxy's routes for the HTTP port {number} know only the Service's name",
        case.client.map_or_else(
            || "the client".to_owned(),
            |client| client.workload().to_string()
        ),
        service.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the port, as Istio reads it"),
    );
    finding.confidence(Confidence::Likely);
    called_service::hit(finding, service, &[], Some(case));
    finding.fix(Fix::advice(format!(
        "send the Host {}.{}:{number}, or name the port tcp-… so that no route is needed",
        service.id.name, service.id.namespace
    )));
}

/// `web-0.web.shop.svc.cluster.local`: the pod's name, and the headless Service.
fn headless<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<(String, &'f Object)> {
    let host = case.call.to.host.trim_end_matches('.').to_ascii_lowercase();
    let short = facts
        .mesh
        .domain
        .without(&host)
        .or_else(|| host.strip_suffix(".svc"))
        .unwrap_or(&host);
    let mut parts = short.split('.');
    let (pod, name) = (parts.next()?, parts.next()?);
    let own = case
        .client
        .map_or("default", |client| client.namespace.as_str());
    let namespace = parts.next().unwrap_or(own);
    let service = facts
        .mesh
        .service(namespace, name)
        .filter(|_| parts.next().is_none())?;
    let is_headless = service
        .spec_at(["clusterIP"])
        .and_then(meshladder_text::tree::Node::str)
        == Some("None");
    is_headless.then(|| (pod.to_owned(), service))
}
