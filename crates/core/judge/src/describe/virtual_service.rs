//! A VirtualService: what it routes, for whom, and step by step whether it has an effect.

use super::{DescribeFacts, DescriptionSection, few};
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::traffic::{destinations, hosts};
use meshladder_text::tree::{Node, Value};

pub(super) fn sections(facts: &DescribeFacts<'_>, service: &Object) -> Vec<DescriptionSection> {
    vec![
        routes(service),
        whom(facts, service),
        leads_to(facts, service),
    ]
}

fn routes(service: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Routes, first match wins");
    for (kind, label) in [("http", "HTTP"), ("tls", "TLS"), ("tcp", "TCP")] {
        for (at, route) in service.spec_list(kind).iter().enumerate() {
            section.object(
                format!("{label} {}", at + 1),
                format!("{}: {}", matches(route), action(route)),
                service,
            );
        }
    }
    section
}

fn whom(facts: &DescribeFacts<'_>, service: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("For whom");
    let names: Vec<String> = hosts(service, &facts.mesh.domain)
        .map(|(_, host)| host)
        .collect();
    section.object("hosts", few(&names), service);
    let gateways: Vec<&str> = service.spec_strings("gateways").collect();
    section.object(
        "gateways",
        if gateways.is_empty() {
            "mesh (sidecars)".to_owned()
        } else {
            gateways.join(", ")
        },
        service,
    );
    let export: Vec<&str> = service.spec_strings("exportTo").collect();
    section.object(
        "exported to",
        if export.is_empty() {
            "every namespace".to_owned()
        } else {
            export.join(", ")
        },
        service,
    );
    for host in names {
        let scope = facts.mesh.namespace_scope(&service.id.namespace);
        let all = facts.mesh.virtual_services(scope, &host);
        if let Some(winner) = all.first().filter(|winner| winner.id != service.id) {
            section.object(host, "another VirtualService decides for it", winner);
        }
    }
    section
}

fn leads_to(facts: &DescribeFacts<'_>, service: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Leads to");
    let mut told = Vec::new();
    for to in destinations(service, &facts.mesh.domain) {
        let subset = to
            .subset
            .map(|subset| format!(" subset {subset}"))
            .unwrap_or_default();
        let name = format!("{}{subset}", to.host);
        if told.contains(&name) {
            continue;
        }
        told.push(name.clone());
        let known = facts.mesh.service_of_host(&to.host);
        let scope = facts.mesh.namespace_scope(&service.id.namespace);
        let rule = to
            .subset
            .and_then(|_| facts.mesh.destination_rule(scope, &to.host));
        let says = match (known, to.subset) {
            (None, _) if facts.mesh.registered(&to.host).next().is_none() => {
                let says = "no Service or ServiceEntry has this host";
                facts.unless_unread(&[Kind::Service, Kind::ServiceEntry], says)
            }
            (_, Some(subset))
                if rule
                    .as_ref()
                    .is_none_or(|rule| rule.subset(subset).is_none()) =>
            {
                let says = "no DestinationRule defines this subset";
                facts.unless_unread(&[Kind::DestinationRule], says)
            }
            _ => "known".to_owned(),
        };
        section.add(
            name,
            says,
            rule.and_then(|rule| rule.rules.first().map(|rule| &rule.id))
                .or(known.map(|service| &service.id)),
        );
    }
    section
}

/// All of it in a line.
pub(super) fn in_words(service: &Object) -> String {
    let routes = ["http", "tls", "tcp"]
        .into_iter()
        .flat_map(|kind| service.spec_list(kind));
    let said: Vec<String> = routes
        .map(|route| format!("{}: {}", matches(route), action(route)))
        .collect();
    if said.is_empty() {
        "no route".to_owned()
    } else {
        said.join("; ")
    }
}

fn matches(route: &Node) -> String {
    let conditions = route.get("match").map_or(&[][..], Node::items);
    let one = |condition: &Node| {
        let parts = condition
            .members()
            .iter()
            .map(|member| format!("{} {}", member.key, plain(&member.value)));
        parts.collect::<Vec<_>>().join(", ")
    };
    match conditions.len() {
        0 => "everything".to_owned(),
        _ => conditions.iter().map(one).collect::<Vec<_>>().join(" or "),
    }
}

/// A value as people would say it: without quotes and brackets.
pub(super) fn plain(node: &Node) -> String {
    match &node.value {
        Value::String(text) => text.to_string(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => members
            .iter()
            .map(|m| format!("{} {}", m.key, plain(&m.value)))
            .collect::<Vec<_>>()
            .join(", "),
        _ => node.to_json(),
    }
}

fn action(route: &Node) -> String {
    if let Some(direct) = route.get("directResponse") {
        return format!(
            "answers {}",
            direct.get("status").map(Node::to_json).unwrap_or_default()
        );
    }
    if let Some(redirect) = route.get("redirect") {
        return format!("redirects ({})", plain(redirect));
    }
    if let Some(delegate) = route.get("delegate") {
        return format!("left to {}", plain(delegate));
    }
    let list = route.get("route").map_or(&[][..], Node::items);
    let to = |entry: &Node| {
        let at = |key: &str| entry.at(["destination", key]).and_then(Node::str);
        let subset = at("subset")
            .map(|subset| format!(" {subset}"))
            .unwrap_or_default();
        let weight = entry
            .get("weight")
            .map(|weight| format!("{} % ", weight.to_json()))
            .unwrap_or_default();
        format!("{weight}to {}{subset}", at("host").unwrap_or("?"))
    };
    let mut parts = vec![list.iter().map(to).collect::<Vec<_>>().join(", ")];
    parts.extend(
        route
            .str_at("timeout")
            .map(|timeout| format!("timeout {timeout}")),
    );
    parts.extend(
        route
            .at(["retries", "attempts"])
            .map(|attempts| format!("{} retries", attempts.to_json())),
    );
    parts.extend(
        route
            .get("fault")
            .map(|fault| format!("injects a fault ({})", plain(fault))),
    );
    parts.extend(
        route
            .get("mirror")
            .map(|mirror| format!("mirrored to {}", plain(mirror))),
    );
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}
