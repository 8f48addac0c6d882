//! See the page beside this file.

use std::collections::BTreeSet;
use std::ptr;

use super::effect;
use super::in_sync::in_sync;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::scope::{Scope, is_router};
use meshladder_mesh::services::{Protocol, ports};
use meshladder_mesh::traffic::{binds_mesh, hosts};
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0608",
    name: "virtual-service-not-in-proxy",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every proxy has a route of each VirtualService that is for it",
    needs: Inputs::of(&[
        Kind::VirtualService,
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
    ]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_not_in_proxy.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let (Some(pod), Some(doc)) = (proxy.pod, &proxy.docs.config_dump) else {
        return;
    };
    let Some(routes) = proxy
        .dump
        .as_ref()
        .and_then(|dump| dump.section(Section::Routes))
    else {
        return;
    };
    let Some(pod) = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return;
    };
    let scope = mesh.scope(pod);
    let bound = if is_router(pod) {
        bound(mesh, pod, routes.text())
    } else {
        Vec::new()
    };
    let there = named_in(routes.text());
    for service in mesh.objects.of_kind(Kind::VirtualService) {
        if there.contains(&(service.id.namespace.as_str(), service.id.name.as_str())) {
            out.examined();
            continue;
        }
        let of_gateway = || {
            bound
                .iter()
                .find(|(one, _)| ptr::eq(*one, service))
                .map(|(_, host)| *host)
        };
        let of_sidecar = || expected(mesh, service, scope);
        let Some(host) = (if is_router(pod) {
            of_gateway()
        } else {
            of_sidecar()
        }) else {
            continue;
        };
        out.examined();
        let message = format!(
            "{} should route the calls of {} and is not among its routes",
            service.id, pod.id
        );
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, host, "the host that is called"),
        );
        finding.see(Evidence::document(
            &doc.id,
            "no route here names the VirtualService",
        ));
        finding.hits(pod.id.clone()).confidence(Confidence::Likely);
        // A proxy that is behind is for the rung `sync`.
        if !in_sync(facts, proxy) {
            finding.severity(Severity::Info);
        }
        finding.fix(Fix::look(shell::command(
            "meshladder ps -n {}",
            &[&pod.id.namespace],
        )));
    }
}

/// Namespace and name of every VirtualService that a route was made from:
/// `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog`.
fn named_in(dump: &str) -> BTreeSet<(&str, &str)> {
    const MARK: &str = "/virtual-service/";
    let places = dump.match_indices(MARK);
    places
        .filter_map(|(at, _)| {
            let namespace = dump[..at].rsplit('/').next()?;
            let name = dump[at + MARK.len()..].split('"').next()?;
            Some((namespace, name))
        })
        .collect()
}

/// The VirtualServices that a gateway's servers should have routes of, each with the host. A server
/// that has no listener, as for want of a certificate, asks for no routes.
fn bound<'m>(mesh: &'m Mesh, pod: &'m Object, dump: &str) -> Vec<(&'m Object, &'m Node)> {
    let servers = mesh.gateways_of(pod).into_iter().flat_map(servers);
    // A server that redirects all to HTTPS has no other routes, and one that passes TLS on none at
    // all.
    let routes = |server: &Server<'_>| {
        let ends_tls = matches!(
            server.tls_mode,
            Some("SIMPLE" | "MUTUAL" | "OPTIONAL_MUTUAL")
        );
        let redirects = server.node.at(["tls", "httpsRedirect"]).is_some();
        let ObjectRef {
            namespace, name, ..
        } = &server.gateway.id;
        let port = server
            .node
            .at(["port", "name"])
            .and_then(Node::str)
            .unwrap_or_default();
        let table = match server.protocol {
            protocol if protocol.is_http() => format!("\"http.{}\"", server.port),
            Protocol::Https if ends_tls => {
                format!("\"https.{}.{port}.{name}.{namespace}\"", server.port)
            }
            _ => return false,
        };
        !redirects && dump.contains(&table)
    };
    let of_server = |server: Server<'m>| {
        let services = mesh
            .bound(server, &pod.id.namespace)
            .into_iter()
            .filter(|service| is_for_anybody(service));
        services.filter_map(move |service| {
            let mut hosts = service.spec_list("hosts").iter();
            Some((
                service,
                hosts.find(|host| server.takes(service, host, &mesh.domain))?,
            ))
        })
    };
    servers.filter(routes).flat_map(of_server).collect()
}

/// The host for which a sidecar should have a route of a VirtualService, by all that objects tell.
fn expected<'m>(mesh: &'m Mesh, service: &'m Object, scope: Scope<'m>) -> Option<&'m Node> {
    if !mesh.is_exported_to(service, scope.namespace)
        || !binds_mesh(service)
        || !is_for_anybody(service)
    {
        return None;
    }
    let mut hosts = hosts(service, &mesh.domain).filter(|(_, full)| !full.starts_with('*'));
    let found = hosts.find(|(_, full)| {
        let is_http = || {
            let protocol = |protocol: Protocol| protocol.is_http() || protocol == Protocol::Sniffed;
            mesh.service_of_host(full)
                .is_some_and(|service| ports(service).any(|port| protocol(port.protocol)))
        };
        let known = || {
            mesh.registry(scope, full)
                .first()
                .is_some_and(|owner| owner.id.is(Kind::Service))
        };
        let wins = || {
            let used = mesh.virtual_services(scope, full);
            // Several that cover the host may share it in ways that are not told apart here.
            used.len() == 1 && ptr::eq(used[0], service)
        };
        is_http() && known() && wins()
    });
    found.map(|(node, _)| node)
}

/// Whether one of its routes is for any client and port.
fn is_for_anybody(service: &Object) -> bool {
    const NARROW: [&str; 4] = ["gateways", "sourceLabels", "sourceNamespace", "port"];
    let any = |block: &Node| NARROW.iter().all(|key| block.get(key).is_none());
    service.spec_list("http").iter().any(|route| {
        let blocks = route.get("match").map_or(&[][..], Node::items);
        route.get("delegate").is_none() && (blocks.is_empty() || blocks.iter().any(any))
    })
}
