//! See the page beside this file.

use super::met;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::services::Protocol;
use meshladder_mesh::{Mesh, Object};

pub(super) static RULE: Rule = Rule {
    code: "ML0510",
    name: "section-against-tls-mode",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every server of a Gateway finds a section of the bound VirtualServices that it can use",
    needs: Inputs::of(&[Kind::Gateway, Kind::VirtualService, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML06"],
    docs: include_str!("section_against_tls_mode.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        let pods = facts.mesh.gateway_pods(gateway);
        let namespace = pods
            .first()
            .map_or(&gateway.id.namespace, |pod| &pod.id.namespace);
        for server in servers(gateway) {
            let bound = facts.mesh.bound(server, namespace);
            if bound.is_empty() || case.is_some_and(|case| !meets(case, &server)) {
                continue;
            }
            out.examined();
            let wants = sections(&server);
            let fits = |service: &&Object| {
                wants
                    .iter()
                    .any(|section| !service.spec_list(section).is_empty())
            };
            if !bound.iter().any(fits) {
                tell(facts.mesh, &server, wants, &bound, &pods, out);
            }
        }
    }
}

fn meets(case: &Case<'_>, server: &Server<'_>) -> bool {
    let wanted = met::authority(case);
    met::is_through_gateway(case)
        && met::fails(case)
        && server.hosts().any(|(_, pattern)| covers(pattern, &wanted))
        && case.call.to.port == server.port
}

/// The sections of a VirtualService that a server can use. Requests are seen only where TLS ends;
/// the name a client asks for only where it does not.
fn sections(server: &Server<'_>) -> &'static [&'static str] {
    let passes = matches!(server.tls_mode, Some("PASSTHROUGH" | "AUTO_PASSTHROUGH"));
    match server.protocol {
        Protocol::Https | Protocol::Tls if passes => &["tls", "tcp"],
        Protocol::Tls | Protocol::Tcp => &["tcp"],
        _ => &["http"],
    }
}

fn tell(
    mesh: &Mesh,
    server: &Server<'_>,
    wants: &[&str],
    bound: &[&Object],
    pods: &[&Object],
    out: &mut Sink,
) {
    let service = bound[0];
    let has: Vec<&str> = ["http", "tls", "tcp"]
        .into_iter()
        .filter(|section| !service.spec_list(section).is_empty())
        .collect();
    // One without any route, or that leaves AUTO_PASSTHROUGH to the name, is another matter.
    let Some(section) = has.first() else { return };
    if server.tls_mode == Some("AUTO_PASSTHROUGH") {
        return;
    }
    let mode = server
        .tls_mode
        .map(|mode| format!(" in mode {mode}"))
        .unwrap_or_default();
    let gateway = &server.gateway.id;
    let message = format!(
        "{} has routes of `{section}`, but {gateway} can use `{}` only on port {}, which is {}{mode}",
        service.id,
        wants.join("` or `"),
        server.port,
        server.protocol.word()
    );
    // Where the routes serve another server, or several VirtualServices agree, the server is the
    // odd one.
    let is_served = servers(server.gateway).any(|other| {
        mesh.bound(other, &service.id.namespace)
            .iter()
            .any(|one| one.id == service.id)
            && sections(&other).iter().any(|section| has.contains(section))
    });
    let routes = Evidence::of(
        service,
        service.spec_at([section]).unwrap_or(&service.node),
        "the routes it has",
    );
    let at = server
        .node
        .get("tls")
        .or_else(|| server.node.get("port"))
        .unwrap_or(server.node);
    let at = Evidence::of(server.gateway, at, "what the server takes");
    let finding = if is_served || bound.len() > 1 {
        let finding = out.find(gateway.clone(), message, at);
        finding.see(routes).hits(service.id.clone());
        finding.fixes.extend(patch(server, section));
        finding
    } else {
        let finding = out.find(service.id.clone(), message, routes);
        finding.see(at).hits(gateway.clone());
        finding
    };
    for pod in pods {
        finding.hits(pod.id.clone());
    }
    if is_served {
        finding.severity(Severity::Warning);
    }
    finding.fix(Fix::advice(format!(
        "give {} routes of `{}`, or change protocol and TLS of the server",
        service.id, wants[0]
    )));
}

/// The server as the routes need it, where that is certain: requests are seen where TLS ends or is
/// not used.
fn patch(server: &Server<'_>, section: &str) -> Option<Fix> {
    let (path, value) = match (section, server.protocol, server.tls_mode) {
        ("http", Protocol::Tcp, None) => ("/port/protocol", "HTTP"),
        ("http", Protocol::Tls | Protocol::Tcp, Some("SIMPLE" | "MUTUAL" | "OPTIONAL_MUTUAL")) => {
            ("/port/protocol", "HTTPS")
        }
        ("http", Protocol::Https, Some("PASSTHROUGH")) if server.credential_name.is_some() => {
            ("/tls/mode", "SIMPLE")
        }
        ("tls", Protocol::Https | Protocol::Tls, Some(_)) => ("/tls/mode", "PASSTHROUGH"),
        ("tcp", Protocol::Http | Protocol::Http2 | Protocol::Grpc, None) => {
            ("/port/protocol", "TCP")
        }
        _ => return None,
    };
    let path = format!("{}{path}", server.gateway.path_of(server.node));
    Some(Fix::patch(
        &server.gateway.id,
        [Op::replace(path, value.to_string())],
    ))
}
