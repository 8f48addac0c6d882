//! A Service: its ports and endpoints, who routes to it, and where it is exposed.

use super::pod::why;
use super::virtual_service::{self, plain};
use super::{DescribeFacts, DescriptionSection, callers, count, few};
use meshladder_capture::Kind;
use meshladder_mesh::ambient::waypoint::{Unbound, WaypointBinding};
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::services::{Protocol, ports};
use meshladder_mesh::traffic::{destinations, hosts};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) fn sections(facts: &DescribeFacts<'_>, service: &Object) -> Vec<DescriptionSection> {
    let mut sections = vec![about(service), endpoints(facts, service)];
    sections.extend(waypoint(facts, service));
    sections.push(callers::section(facts, &[host(facts, service)], None));
    sections.extend(traffic(facts, service));
    sections.extend(exposed(facts, service));
    if let Some(pod) = facts.mesh.selected_pods(service).first() {
        sections.push(super::policies::mutual_tls(facts, pod));
        sections.extend(super::policies::sections(facts, pod));
    }
    sections
}

/// The name by which proxies know it.
pub(super) fn host(facts: &DescribeFacts<'_>, service: &Object) -> String {
    facts
        .mesh
        .domain
        .service(&service.id.name, &service.id.namespace)
}

fn about(service: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Ports");
    for port in ports(service) {
        let target = port
            .target_port
            .map_or_else(|| port.number.to_string(), Node::to_json);
        let target = target.trim_matches('"').to_owned();
        section.object(
            format!("{} → {target}", port.number),
            format!("{}, {}", port.protocol.word(), why(&port)),
            service,
        );
    }
    section
}

/// The waypoint that a label names, and whether traffic goes through it.
fn waypoint(facts: &DescribeFacts<'_>, service: &Object) -> Option<DescriptionSection> {
    let mut section = DescriptionSection::new("Waypoint");
    match facts.mesh.service_waypoint(service) {
        WaypointBinding::None => return None,
        WaypointBinding::Bound { gateway, label } => {
            let name = format!("{}/{}", gateway.namespace(), gateway.name());
            section.object(
                name,
                "traffic to the Service goes through it",
                gateway.object,
            );
            section.object("named by", label.object.id.to_string(), label.object);
        }
        WaypointBinding::Unbound { label, why } => {
            let why = match why {
                Unbound::Missing => "there is no such Gateway",
                Unbound::NotReady(_) => "it has no address",
                Unbound::NotPermitted(_) => "it does not take this namespace",
                Unbound::OtherTraffic(_) => "it is for other traffic",
            };
            let name = format!("{}/{}", label.namespace, label.name);
            section.object(name, format!("traffic goes past it: {why}"), label.object);
        }
    }
    Some(section)
}

/// From the selector to what is ready.
fn endpoints(facts: &DescribeFacts<'_>, service: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Endpoints");
    let pods = facts.mesh.selected_pods(service);
    let selector = service.spec_at(["selector"]).map_or(&[][..], Node::members);
    let labels: Vec<String> = selector
        .iter()
        .map(|label| format!("{}={}", label.key, label.value.str().unwrap_or_default()))
        .collect();
    if labels.is_empty() {
        section.object(
            "selector",
            "none: its endpoints are written by hand",
            service,
        );
    } else {
        section.object(
            "selector",
            match facts.unread(&[Kind::Pod]) {
                Some(unread) => format!(
                    "{}; whom it selects is unknown without all {unread}",
                    labels.join(",")
                ),
                None => format!("{} selects {}", labels.join(","), count(pods.len(), "pod")),
            },
            service,
        );
    }
    for endpoint in facts.mesh.endpoints(service) {
        let pod = endpoint
            .pod
            .map(|pod| pod.id.name.clone())
            .unwrap_or_default();
        let ready = if endpoint.is_ready {
            "ready"
        } else {
            "not ready"
        };
        section.add(
            endpoint.address,
            format!("{ready} {pod}").trim_end().to_owned(),
            endpoint.pod.map(|pod| &pod.id),
        );
    }
    if facts.mesh.endpoints(service).is_empty() {
        let says = "no EndpointSlice has an endpoint of it";
        let says = facts.unless_unread(&[Kind::EndpointSlice], says);
        section.add("", says, None);
    }
    section
}

/// Who routes to it and how clients connect: as the Service's own namespace sees it, and where
/// other namespaces differ.
pub(super) fn traffic(facts: &DescribeFacts<'_>, service: &Object) -> Vec<DescriptionSection> {
    let host = host(facts, service);
    let mut routes = DescriptionSection::new("Routing");
    let scope = facts.mesh.namespace_scope(&service.id.namespace);
    for (at, virtual_service) in facts
        .mesh
        .virtual_services(scope, &host)
        .into_iter()
        .enumerate()
    {
        let about = if at == 0 { "decides" } else { "loses to it" };
        routes.object(
            about,
            virtual_service::in_words(virtual_service),
            virtual_service,
        );
    }
    if routes.facts.is_empty() {
        let says = format!(
            "no VirtualService for {host} inside {}: to all its endpoints",
            service.id.namespace
        );
        let says = facts.unless_unread(&[Kind::VirtualService, Kind::Sidecar], says);
        routes.add("decides", says, None);
    }
    if ports(service).any(|port| port.protocol.is_http()) {
        let (retries, by) = default_retries(facts);
        routes.add(
            "unless a route says otherwise",
            facts.unless_unread(&[Kind::ConfigMap], format!("no timeout, {retries}")),
            by,
        );
    }
    let mut clients = DescriptionSection::new("How clients connect");
    let mut by_rule: Vec<(Option<ObjectRef>, Vec<String>)> = Vec::new();
    for namespace in namespaces(facts) {
        let rule = facts
            .mesh
            .destination_rule(facts.mesh.namespace_scope(&namespace), &host);
        let id = rule.and_then(|rule| rule.rules.first().map(|rule| rule.id.clone()));
        match by_rule.iter_mut().find(|(known, _)| *known == id) {
            Some((_, seen)) => seen.push(namespace),
            None => by_rule.push((id, vec![namespace])),
        }
    }
    let is_one = by_rule.len() == 1;
    for (rule, from) in by_rule {
        let about = if is_one {
            String::new()
        } else {
            format!("from {}", few(&from))
        };
        let stored = rule.as_ref().and_then(|rule| facts.mesh.objects.find(rule));
        clients.add(
            about,
            stored.map_or_else(|| without_rule(facts), rule_in_words),
            rule.as_ref(),
        );
    }
    vec![routes, clients]
}

/// "defaultHttpRetryPolicy"; without it Istio has two retries of what is safe to send again.
fn default_retries<'m>(facts: &DescribeFacts<'m>) -> (String, Option<&'m ObjectRef>) {
    let config = &facts.mesh.config;
    match config
        .tree
        .as_ref()
        .and_then(|tree| tree.get("defaultHttpRetryPolicy"))
    {
        Some(policy) => (
            format!("retries: {}", plain(policy)),
            config.object.as_ref(),
        ),
        None => ("2 retries where no request got through".to_owned(), None),
    }
}

fn namespaces(facts: &DescribeFacts<'_>) -> Vec<String> {
    let mut found: Vec<String> = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy)
        .map(|pod| pod.namespace.clone())
        .collect();
    found.sort();
    found.dedup();
    found
}

fn without_rule(facts: &DescribeFacts<'_>) -> String {
    let tls = if facts.mesh.config.auto_mtls {
        "mutual TLS where the server has a proxy"
    } else {
        "plain text"
    };
    let says = format!("no DestinationRule: {tls}");
    facts.unless_unread(
        &[Kind::DestinationRule, Kind::ConfigMap, Kind::Sidecar],
        says,
    )
}

fn rule_in_words(rule: &Object) -> String {
    let policy = |key: &str| rule.spec_at(["trafficPolicy", key]);
    let subsets = rule
        .spec_list("subsets")
        .iter()
        .filter_map(|subset| subset.str_at("name"));
    let mut parts: Vec<String> = Vec::new();
    let subsets = subsets.collect::<Vec<_>>().join(", ");
    if !subsets.is_empty() {
        parts.push(format!("subsets {subsets}"));
    }
    if let Some(mode) = policy("tls").and_then(|tls| tls.str_at("mode")) {
        parts.push(format!("TLS {mode}"));
    }
    for (key, word) in [
        ("connectionPool", "connection limits"),
        ("outlierDetection", "outlier detection"),
        ("loadBalancer", "load balancing"),
        ("portLevelSettings", "by port"),
    ] {
        parts.extend(policy(key).map(|settings| format!("{word} ({})", plain(settings))));
    }
    if parts.is_empty() {
        "no setting".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The hosts at gateways that lead to it.
pub(super) fn exposed(facts: &DescribeFacts<'_>, service: &Object) -> Vec<DescriptionSection> {
    let host = host(facts, service);
    let mut section = DescriptionSection::new("Exposed at gateways");
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        let pods = facts.mesh.gateway_pods(gateway);
        for server in servers(gateway) {
            for bound in facts.mesh.bound(
                server,
                pods.first()
                    .map_or(gateway.id.namespace.as_str(), |pod| &pod.id.namespace),
            ) {
                if destinations(bound, &facts.mesh.domain)
                    .iter()
                    .any(|to| to.host == host)
                {
                    let says = if pods.is_empty() && facts.unread(&[Kind::Pod]).is_none() {
                        ", but no pod runs this Gateway"
                    } else {
                        ""
                    };
                    section.object(
                        urls(facts, server, bound),
                        format!("by {}{says}", bound.id),
                        gateway,
                    );
                }
            }
        }
    }
    vec![section]
}

/// The addresses at which a server takes a VirtualService's hosts.
pub(super) fn urls(facts: &DescribeFacts<'_>, server: Server<'_>, bound: &Object) -> String {
    let scheme = match server.protocol {
        Protocol::Https | Protocol::Tls => "https",
        protocol if protocol.is_http() => "http",
        _ => "tcp",
    };
    let taken = hosts(bound, &facts.mesh.domain)
        .filter(|(node, _)| server.takes(bound, node, &facts.mesh.domain))
        .map(|(_, host)| host);
    let urls: Vec<String> = taken
        .map(|host| format!("{scheme}://{host}:{}", server.port))
        .collect();
    urls.join(" ")
}
