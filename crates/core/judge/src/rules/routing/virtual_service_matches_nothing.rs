//! See the page beside this file.

use super::effect;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::services::{Protocol, number, ports};
use meshladder_mesh::traffic::{binds_mesh, hosts};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

/// The last steps of the way of a VirtualService: it is valid, its ports and protocols fit, and
/// somebody can match it.
pub(super) static RULE: Rule = Rule {
    code: "ML0624",
    name: "virtual-service-matches-nothing",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every VirtualService is valid and has a route that a request can match",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_matches_nothing.md"),
    check: Check::Mesh(check),
};

/// What keeps a route from acting, and where it stands.
type Dead<'m> = (&'m Node, String);

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        out.examined();
        if let Some((node, why)) = invalid(service) {
            let message = format!(
                "{} is not valid, so istiod makes no route of it: {why}",
                service.id
            );
            let finding = out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, why),
            );
            finding.fix(Fix::look(shell::command(
                "meshladder analyze --namespace {}",
                &[&service.id.namespace],
            )));
            continue;
        }
        let all = routes(service);
        let dead: Vec<Dead<'_>> = all
            .iter()
            .filter_map(|(kind, route)| dead(facts.mesh, service, kind, route))
            .collect();
        let Some((node, why)) = dead.first() else {
            continue;
        };
        let is_all = dead.len() == all.len();
        let message = if is_all {
            format!("no request can match {}: {why}", service.id)
        } else {
            format!(
                "{} of the {} routes of {} match no request: {why}",
                dead.len(),
                all.len(),
                service.id
            )
        };
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, node, why.clone()),
        );
        for (node, why) in dead.iter().skip(1) {
            finding.see(Evidence::of(service, node, why.clone()));
        }
        if !is_all {
            finding
                .severity(Severity::Info)
                .when_asked(Severity::Warning);
        }
        finding.fix(Fix::advice(
            "make the route match what is called, or take it out",
        ));
    }
}

/// The routes of a VirtualService, each with the section it stands in.
fn routes(service: &Object) -> Vec<(&'static str, &Node)> {
    let of = |kind: &'static str| {
        service
            .spec_list(kind)
            .iter()
            .map(move |route| (kind, route))
    };
    of("http").chain(of("tls")).chain(of("tcp")).collect()
}

/// What istiod's own validation refuses; an object may be older than the webhook, or have come past
/// it.
fn invalid(service: &Object) -> Option<(&Node, &'static str)> {
    if let Some(host) = service
        .spec_list("hosts")
        .iter()
        .find(|host| host.str() == Some("*"))
        && binds_mesh(service)
    {
        return Some((host, "host * is for gateways only"));
    }
    if routes(service).is_empty() {
        return Some((
            service.spec().unwrap_or(&service.node),
            "it has no http, tls or tcp route",
        ));
    }
    let acts = |route: &Node| {
        ["route", "redirect", "directResponse", "delegate"]
            .iter()
            .any(|key| route.get(key).is_some())
    };
    if let Some(route) = service.spec_list("http").iter().find(|route| !acts(route)) {
        return Some((route, "an http route leads nowhere and answers nothing"));
    }
    let weighted = routes(service)
        .into_iter()
        .filter_map(|(_, route)| route.get("route"));
    weighted
        .filter(|list| list.items().len() > 1)
        .find_map(|list| {
            let weights: Vec<i64> = list.items().iter().map(weight).collect();
            let is_bad =
                weights.iter().any(|weight| *weight < 0) || weights.iter().sum::<i64>() == 0;
            is_bad.then_some((list, "the weights of its destinations come to nothing"))
        })
}

fn weight(destination: &Node) -> i64 {
    match destination.get("weight").map(|weight| &weight.value) {
        Some(Value::Number(text)) => text.parse().unwrap_or_default(),
        _ => 0,
    }
}

/// Why no request can take a route; none when one can, or when it is not known.
fn dead<'m>(mesh: &Mesh, service: &'m Object, kind: &str, route: &'m Node) -> Option<Dead<'m>> {
    let blocks = route.get("match").map_or(&[][..], Node::items);
    if blocks.is_empty() {
        return protocol(mesh, service, kind, None).map(|why| (route, why));
    }
    let reasons: Vec<Dead<'m>> = blocks
        .iter()
        .filter_map(|block| unmatched(mesh, service, kind, block))
        .collect();
    if reasons.len() == blocks.len() {
        reasons.into_iter().next()
    } else {
        None
    }
}

fn unmatched<'m>(
    mesh: &Mesh,
    service: &'m Object,
    kind: &str,
    block: &'m Node,
) -> Option<Dead<'m>> {
    gateways(service, block)
        .or_else(|| port(mesh, service, block))
        .or_else(|| caller(mesh, block))
        .or_else(|| sni(mesh, service, block))
        .or_else(|| {
            protocol(mesh, service, kind, block.get("port").and_then(number))
                .map(|why| (block, why))
        })
}

/// "A list of gateways in a match overrides those at the top": it cannot add one.
fn gateways<'m>(service: &'m Object, block: &'m Node) -> Option<Dead<'m>> {
    let node = block
        .get("gateways")
        .filter(|list| !list.items().is_empty())?;
    let namespace = &service.id.namespace;
    let own: Vec<(&str, &str)> = service
        .spec_strings("gateways")
        .map(|entry| gateway_name(entry, namespace))
        .collect();
    let is_own = |entry: &str| match entry {
        "mesh" => binds_mesh(service),
        entry => own.contains(&gateway_name(entry, namespace)),
    };
    let is_lost = !node.items().iter().filter_map(Node::str).any(is_own);
    is_lost.then(|| {
        (
            node,
            "the gateways of the match are none of the VirtualService's own".to_owned(),
        )
    })
}

/// A port that neither a host nor a Gateway has.
fn port<'m>(mesh: &Mesh, service: &'m Object, block: &'m Node) -> Option<Dead<'m>> {
    let node = block.get("port")?;
    let wanted = number(node)?;
    let bound = service
        .spec_strings("gateways")
        .filter(|entry| *entry != "mesh")
        .filter_map(|entry| {
            let (namespace, name) = gateway_name(entry, &service.id.namespace);
            mesh.gateway(namespace, name)
        });
    if bound.flat_map(servers).any(|server| server.port == wanted) {
        return None;
    }
    let known = declared(mesh, service)?;
    let is_lost = !known.is_empty() && known.iter().all(|(number, _)| *number != wanted);
    is_lost.then(|| {
        (
            node,
            format!("no host of the VirtualService has port {wanted}"),
        )
    })
}

/// Callers that nobody is.
fn caller<'m>(mesh: &Mesh, block: &'m Node) -> Option<Dead<'m>> {
    if mesh.pods.is_empty() {
        return None;
    }
    if let Some(labels) = block
        .get("sourceLabels")
        .filter(|labels| !labels.members().is_empty())
    {
        let pods = mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(|pod| has_labels(labels, pod.labels()));
        if pods.count() == 0 {
            return Some((
                labels,
                "no pod has the labels that callers must have".to_owned(),
            ));
        }
    }
    let written = block.get("sourceNamespace")?;
    let namespace = written.str()?;
    let is_lost = !mesh.pods.iter().any(|pod| pod.namespace == namespace);
    is_lost.then(|| {
        (
            written,
            format!("namespace {namespace}, where callers must be, has no pod"),
        )
    })
}

/// A server name that is none of the hosts.
fn sni<'m>(mesh: &Mesh, service: &'m Object, block: &'m Node) -> Option<Dead<'m>> {
    let node = block.get("sniHosts")?;
    let is_host = |name: &str| {
        hosts(service, &mesh.domain)
            .any(|(written, full)| written.str() == Some(name) || covers(&full, name))
    };
    let misses =
        !node.items().is_empty() && !node.items().iter().filter_map(Node::str).any(is_host);
    misses.then(|| {
        (
            node,
            "the server names of the match are none of the VirtualService's hosts".to_owned(),
        )
    })
}

/// "TLS routes … will be applied to platform service ports named 'https-*', 'tls-*'", "TCP routes …
/// to any port that is not a HTTP or TLS port". That HTTP routes meet a TCP port has a rule of its
/// own.
fn protocol(mesh: &Mesh, service: &Object, kind: &str, wanted: Option<u16>) -> Option<String> {
    let is_for_sidecars = service
        .spec_strings("gateways")
        .all(|entry| entry == "mesh");
    let mut known = declared(mesh, service).filter(|_| is_for_sidecars)?;
    known.retain(|(number, _)| wanted.is_none_or(|wanted| wanted == *number));
    let fits = |protocol: Protocol| match kind {
        "tls" => matches!(protocol, Protocol::Tls | Protocol::Https),
        "tcp" => matches!(protocol, Protocol::Tcp | Protocol::Sniffed),
        _ => true,
    };
    let (number, _) = known
        .first()
        .filter(|_| !known.iter().any(|(_, protocol)| fits(*protocol)))?;
    Some(format!(
        "{kind} routes do nothing on port {number}, which is declared as another protocol"
    ))
}

/// The ports of all hosts with their protocols; none when one of the hosts is not known.
fn declared(mesh: &Mesh, service: &Object) -> Option<Vec<(u16, Protocol)>> {
    let mut found = Vec::new();
    for (_, host) in hosts(service, &mesh.domain) {
        let before = found.len();
        for owner in mesh.registered(&host) {
            if owner.id.is(Kind::Service) {
                found.extend(ports(owner).map(|port| (port.number, port.protocol)));
            } else {
                let of_entry = |port: &Node| {
                    let protocol = Protocol::of_name(port.str_at("protocol").unwrap_or_default());
                    Some((number(port.get("number")?)?, protocol))
                };
                found.extend(owner.spec_list("ports").iter().filter_map(of_entry));
            }
        }
        (found.len() > before).then_some(())?;
    }
    Some(found)
}
