//! See the page beside this file.

use super::clients::Clients;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Value;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0507",
    name: "gateway-selects-no-pod",
    aka: &["IST0101", "KIA0302"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Gateway selects a pod",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::VirtualService]),
    uses: Inputs::of(&[Kind::Sidecar]),
    explains: &["ML06"],
    docs: include_str!("gateway_selects_no_pod.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        if case.is_some_and(|case| !meets(facts.mesh, case, gateway)) {
            continue;
        }
        out.examined();
        if facts.mesh.gateway_pods(gateway).is_empty() {
            tell(facts.mesh, &clients, gateway, out);
        }
    }
}

/// Whether the request would need it: it is for the request's host and port, and so is a
/// VirtualService bound to it.
fn meets(mesh: &Mesh, case: &Case<'_>, gateway: &Object) -> bool {
    let wanted = met::authority(case);
    let takes =
        servers(gateway).any(|server| server.hosts().any(|(_, pattern)| covers(pattern, &wanted)));
    let is_needed = || {
        mesh.naming(gateway)
            .iter()
            .any(|service| is_lost(mesh, service))
    };
    met::is_through_gateway(case) && met::lacks_route(case) && takes && is_needed()
}

/// Whether no Gateway that the VirtualService names has a pod.
fn is_lost(mesh: &Mesh, service: &Object) -> bool {
    service.spec_strings("gateways").all(|entry| {
        let (namespace, name) = gateway_name(entry, &service.id.namespace);
        entry != "mesh"
            && mesh
                .gateway(namespace, name)
                .is_none_or(|gateway| mesh.gateway_pods(gateway).is_empty())
    })
}

fn tell(mesh: &Mesh, clients: &Clients<'_>, gateway: &Object, out: &mut Sink) {
    let selector = gateway.spec_at(["selector"]).unwrap_or(&gateway.node);
    let labels: Vec<String> = selector
        .members()
        .iter()
        .map(|m| format!("{}={}", m.key, m.value.str().unwrap_or_default()))
        .collect();
    let lost: Vec<&Object> = mesh
        .naming(gateway)
        .into_iter()
        .filter(|service| is_lost(mesh, service))
        .collect();
    let names: Vec<String> = lost.iter().map(|service| service.id.to_string()).collect();
    let losing = if lost.is_empty() {
        String::new()
    } else {
        format!(", so nobody serves {}", names.join(", "))
    };
    let message = format!(
        "{} selects pods labelled {}, and there is none{losing}",
        gateway.id,
        labels.join(",")
    );
    let finding = out.find(
        gateway.id.clone(),
        message,
        Evidence::of(gateway, selector, "the pods it selects"),
    );
    if lost.is_empty() {
        finding.severity(Severity::Info);
    }
    for service in &lost {
        finding.hits(service.id.clone());
        let gateways = service.spec_at(["gateways"]).unwrap_or(&service.node);
        finding.see(Evidence::of(
            service,
            gateways,
            format!("what {} is bound to", service.id),
        ));
    }
    for router in clients.routers() {
        finding.hits(router.id.clone());
        finding.see(Evidence::of(
            router,
            router.labels().unwrap_or(&router.node),
            "the labels that a gateway's pod has",
        ));
    }
    let mut values: Vec<&str> = clients
        .routers()
        .iter()
        .filter_map(|router| router.label("istio"))
        .collect();
    values.sort_unstable();
    values.dedup();
    for value in values {
        finding.fix(patch::replace(
            gateway,
            selector,
            Value::object([("istio", value)]),
        ));
    }
    finding.fix(Fix::advice(
        "give the selector the labels of the gateway's pods, or delete the Gateway",
    ));
}
