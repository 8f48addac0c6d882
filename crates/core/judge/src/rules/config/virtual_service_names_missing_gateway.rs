//! See the page beside this file.

use super::clients::Clients;
use super::nearest::{distance, nearest};
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0501",
    name: "virtual-service-names-missing-gateway",
    aka: &["IST0101", "KIA1102"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Gateway that a VirtualService names exists",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: Inputs::of(&[Kind::Pod, Kind::Sidecar]),
    explains: &["ML0502", "ML06"],
    docs: include_str!("virtual_service_names_missing_gateway.md"),
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
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for entry in service.spec_list("gateways") {
            let name = entry.str().unwrap_or_default();
            if name == "mesh" {
                continue;
            }
            let Some(severity) = severity(facts, &clients, service, name, case) else {
                continue;
            };
            out.examined();
            let (namespace, name) = gateway_name(name, &service.id.namespace);
            if facts.mesh.gateway(namespace, name).is_none() {
                missing(facts.mesh, &clients, service, entry, severity, out);
            }
        }
    }
}

/// How bad it would be if the entry led nowhere; none when the request does not meet the
/// VirtualService.
fn severity(
    facts: &Facts<'_>,
    clients: &Clients<'_>,
    service: &Object,
    entry: &str,
    case: Option<&Case<'_>>,
) -> Option<Severity> {
    let is_meant_for_sidecars = nearest(entry, ["mesh"].into_iter()).is_some();
    let Some(case) = case else {
        let is_seen = if is_meant_for_sidecars {
            !clients.sidecars_seeing(service).is_empty()
        } else {
            !clients.routers_seeing(service).is_empty()
        };
        return Some(if is_seen {
            Severity::Error
        } else {
            Severity::Info
        });
    };
    let scope = met::scope(facts, case);
    let is_visible = scope.is_none_or(|scope| facts.mesh.is_exported_to(service, scope.namespace));
    if !is_visible || !met::is_for_host(facts, service, &met::authority(case)) {
        return None;
    }
    match (met::is_through_gateway(case), is_meant_for_sidecars) {
        (true, false) if met::lacks_route(case) => Some(Severity::Error),
        (false, true) => Some(Severity::Error),
        _ => Some(Severity::Info),
    }
}

fn missing(
    mesh: &Mesh,
    clients: &Clients<'_>,
    service: &Object,
    entry: &Node,
    severity: Severity,
    out: &mut Sink,
) {
    let written = entry.str().unwrap_or_default();
    let (namespace, name) = gateway_name(written, &service.id.namespace);
    let meant = meant(mesh, service, written);
    let instead = meant
        .as_ref()
        .map(|meant| format!("; {meant} exists"))
        .unwrap_or_default();
    let message = format!(
        "{} names Gateway {namespace}/{name}, which does not exist{instead}",
        service.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, entry, "the Gateway it names"),
    );
    finding.severity(severity);
    for router in clients.routers_seeing(service) {
        finding.hits(router.id.clone());
    }
    if let Some(meant) = meant {
        if let Some(gateway) = meant
            .split_once('/')
            .and_then(|(namespace, name)| mesh.gateway(namespace, name))
        {
            finding.see(Evidence::object(gateway, "the Gateway that may be meant"));
        }
        finding.fix(patch::replace(service, entry, &meant));
    }
    finding.fix(Fix::advice(
        "name a Gateway that exists, as namespace/name, or create this one",
    ));
    finding.fix(Fix::look("kubectl get gateways.networking.istio.io -A"));
}

/// The Gateway that is probably meant: one with pods that takes the VirtualService's hosts, of
/// several the one with the nearest name. `mesh` when that is one letter away.
fn meant(mesh: &Mesh, service: &Object, written: &str) -> Option<String> {
    if let Some(all) = nearest(written, ["mesh"].into_iter()) {
        return Some(all.to_owned());
    }
    let (_, name) = gateway_name(written, &service.id.namespace);
    let takes = |gateway: &&Object| {
        let hosts = service.spec_list("hosts");
        servers(gateway).any(|server| {
            hosts
                .iter()
                .any(|host| server.takes(service, host, &mesh.domain))
        }) && !mesh.gateway_pods(gateway).is_empty()
    };
    let gateways = mesh.objects.of_kind(Kind::Gateway).iter().filter(takes);
    let best =
        gateways.min_by_key(|gateway| (distance(name, &gateway.id.name), gateway.id.clone()))?;
    Some(format!("{}/{}", best.id.namespace, best.id.name))
}
