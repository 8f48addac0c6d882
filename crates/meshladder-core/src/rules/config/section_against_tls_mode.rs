//! See the page beside this file.

use super::{GATEWAYS, PODS, VIRTUAL_SERVICES, met};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::gateways::{Server, servers};
use crate::mesh::host::covers;
use crate::mesh::services::Protocol;
use crate::mesh::{Mesh, Stored};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0510",
    name: "section-against-tls-mode",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every server of a Gateway finds a section of the bound VirtualServices that it can use",
    needs: &[GATEWAYS, VIRTUAL_SERVICES, PODS],
    uses: &[],
    explains: &["ML06"],
    docs: include_str!("section_against_tls_mode.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of("Gateway", "networking.istio.io") {
        let pods = facts.mesh.gateway_pods(gateway);
        let namespace = pods.first().map_or(&gateway.id.namespace, |pod| &pod.id.namespace);
        for server in servers(gateway) {
            let bound = facts.mesh.bound(server, namespace);
            if bound.is_empty() || asked.is_some_and(|asked| !meets(asked, &server)) {
                continue;
            }
            out.examined();
            let wants = sections(&server);
            let fits = |service: &&Stored| wants.iter().any(|section| !service.spec_list(section).is_empty());
            if !bound.iter().any(fits) {
                tell(facts.mesh, &server, wants, &bound, &pods, out);
            }
        }
    }
}

fn meets(asked: &Asked<'_>, server: &Server<'_>) -> bool {
    let wanted = met::authority(asked);
    met::is_through_gateway(asked)
        && met::fails(asked)
        && server.hosts().any(|(_, pattern)| covers(pattern, &wanted))
        && asked.question.to.port == server.port
}

/// The sections of a VirtualService that a server can use. Requests are seen only where TLS ends; the name a client asks
/// for only where it does not.
fn sections(server: &Server<'_>) -> &'static [&'static str] {
    let passes = matches!(server.tls_mode, Some("PASSTHROUGH" | "AUTO_PASSTHROUGH"));
    match server.protocol {
        Protocol::Https | Protocol::Tls if passes => &["tls", "tcp"],
        Protocol::Tls | Protocol::Tcp => &["tcp"],
        _ => &["http"],
    }
}

fn tell(mesh: &Mesh, server: &Server<'_>, wants: &[&str], bound: &[&Stored], pods: &[&Stored], out: &mut Sink) {
    let service = bound[0];
    let has: Vec<&str> =
        ["http", "tls", "tcp"].into_iter().filter(|section| !service.spec_list(section).is_empty()).collect();
    // One without any route, or that leaves AUTO_PASSTHROUGH to the name, is another matter.
    let Some(section) = has.first() else { return };
    if server.tls_mode == Some("AUTO_PASSTHROUGH") {
        return;
    }
    let mode = server.tls_mode.map(|mode| format!(" in mode {mode}")).unwrap_or_default();
    let message = format!(
        "{} has routes of `{section}`, but {} can use `{}` only on port {}{mode}",
        service.id,
        server.gateway.id,
        wants.join("` or `"),
        server.port
    );
    let routes = service.spec_at([section]).unwrap_or(&service.node);
    let finding = out.find(service.id.clone(), message, Evidence::of(service, routes, "the routes it has"));
    let at = server.node.get("tls").or_else(|| server.node.get("port")).unwrap_or(server.node);
    finding.see(Evidence::of(server.gateway, at, "what the server does with TLS"));
    finding.hits(server.gateway.id.clone());
    for pod in pods {
        finding.hits(pod.id.clone());
    }
    // Another port of the same Gateway may be the one it is meant for.
    let is_served = servers(server.gateway).any(|other| {
        mesh.bound(other, &service.id.namespace).iter().any(|one| one.id == service.id)
            && sections(&other).iter().any(|section| has.contains(section))
    });
    if is_served {
        finding.severity(Severity::Warning);
    }
    finding.fix(Fix::advice(format!(
        "give {} routes of `{}`, or change what the server does with TLS",
        service.id, wants[0]
    )));
}
