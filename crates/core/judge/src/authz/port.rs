//! Which port of the pod a request goes to, and what istiod takes its traffic for.

use super::objects::AuthzObjects;
use super::server::PolicyServer;
use crate::policy::Traffic;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object};
use meshladder_sim::walk::{Scheme, Url};
use meshladder_text::tree::{Node, Value};

/// A port of the server.
#[derive(Debug)]
pub(super) struct ServerPort {
    /// Its number in the pod; none when no Service leads to it and the URL names no address.
    pub(super) number: Option<u16>,
    /// What the proxy takes the request for.
    pub(super) traffic: Traffic,
}

/// The port behind a URL: by the Service of that name, by any Service of the server, or as it
/// stands.
pub(super) fn find(
    objects: AuthzObjects<'_>,
    mesh: &Mesh,
    server: &PolicyServer,
    url: &Url,
) -> ServerPort {
    let own: Vec<_> = objects
        .services()
        .filter(|service| selects(service, server))
        .collect();
    let named = mesh.service_named(&url.host.to_ascii_lowercase(), &server.namespace);
    let is_named = |service: &&&Object| {
        named.is_some_and(|named| {
            named.namespace == service.id.namespace && named.name == service.id.name
        })
    };
    let is_address = url
        .host
        .trim_matches(['[', ']'])
        .parse::<std::net::IpAddr>()
        .is_ok();
    let by_name = own
        .iter()
        .find(is_named)
        .and_then(|service| target(service, url.port, server));
    let by_any = || {
        own.iter()
            .find_map(|service| target(service, url.port, server))
    };
    let number = if is_address {
        Some(url.port)
    } else {
        by_name.or_else(by_any)
    };
    let at = number.unwrap_or(url.port);
    let protocol = own
        .iter()
        .flat_map(|service| ports(service))
        .find(|port| target_of(port, server) == Some(at));
    let traffic = match protocol.map_or(PortProtocol::Detected, protocol_of) {
        PortProtocol::Http => Traffic::Http,
        PortProtocol::Detected if url.scheme == Scheme::Http => Traffic::Http,
        PortProtocol::Tcp | PortProtocol::Detected => Traffic::Tcp,
    };
    ServerPort { number, traffic }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortProtocol {
    Http,
    Tcp,
    /// The proxy looks at the first bytes.
    Detected,
}

fn selects(service: &Object, server: &PolicyServer) -> bool {
    let selector = service
        .node
        .at(["spec", "selector"])
        .filter(|selector| !selector.members().is_empty());
    service.id.namespace == server.namespace
        && selector.is_some_and(|wanted| has_labels(wanted, Some(&server.labels)))
}

fn ports(service: &Object) -> &[Node] {
    service
        .node
        .at(["spec", "ports"])
        .map_or(&[][..], Node::items)
}

fn target(service: &Object, port: u16, server: &PolicyServer) -> Option<u16> {
    let port = ports(service)
        .iter()
        .find(|p| p.get("port").and_then(number) == Some(port))?;
    target_of(port, server)
}

/// "By default, and for convenience, the targetPort is set to the same value as the port field."
fn target_of(port: &Node, server: &PolicyServer) -> Option<u16> {
    let Some(target) = port.get("targetPort") else {
        return port.get("port").and_then(number);
    };
    number(target).or_else(|| {
        server
            .ports
            .iter()
            .find(|(name, _)| target.str() == Some(name))
            .map(|(_, n)| *n)
    })
}

pub(super) fn number(node: &Node) -> Option<u16> {
    match &node.value {
        Value::Number(text) | Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// "name: <protocol>[-<suffix>]", or `appProtocol`, which wins.
fn protocol_of(port: &Node) -> PortProtocol {
    let name = port.str_at("name").unwrap_or_default();
    let declared = match port.str_at("appProtocol") {
        Some(protocol) => protocol.to_ascii_lowercase(),
        None if name.to_ascii_lowercase().starts_with("grpc-web") => "grpc-web".to_owned(),
        None => name
            .split('-')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase(),
    };
    match declared.as_str() {
        "http" | "http2" | "grpc" | "grpc-web" | "kubernetes.io/h2c" | "kubernetes.io/ws" => {
            PortProtocol::Http
        }
        "https" | "tls" | "tcp" | "mongo" | "redis" | "mysql" | "udp" | "kubernetes.io/wss" => {
            PortProtocol::Tcp
        }
        // Of these the server speaks first, so there is nothing to look at.
        _ if matches!(
            port.get("port").and_then(number),
            Some(25 | 53 | 3306 | 27017)
        ) =>
        {
            PortProtocol::Tcp
        }
        _ => PortProtocol::Detected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_text::json::Raw;

    #[test]
    fn a_port_is_what_its_app_protocol_or_its_name_says() {
        for (port, expected) in [
            (r#"{"port":80,"name":"http-web"}"#, PortProtocol::Http),
            (r#"{"port":80,"name":"grpc-web-x"}"#, PortProtocol::Http),
            (r#"{"port":80,"name":"tcp-web"}"#, PortProtocol::Tcp),
            (r#"{"port":80,"name":"https"}"#, PortProtocol::Tcp),
            (
                r#"{"port":80,"name":"tcp","appProtocol":"http"}"#,
                PortProtocol::Http,
            ),
            (r#"{"port":80,"name":"web"}"#, PortProtocol::Detected),
            (r#"{"port":80}"#, PortProtocol::Detected),
            (r#"{"port":3306,"name":"db"}"#, PortProtocol::Tcp),
        ] {
            let node = Node::from_json(Raw::of(port).expect("a value")).expect("JSON");
            assert_eq!(protocol_of(&node), expected, "{port}");
        }
    }
}
