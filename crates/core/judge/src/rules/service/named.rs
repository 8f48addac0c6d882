//! What the name of a Service's port says of its protocol.

use meshladder_mesh::Object;
use meshladder_text::tree::Node;

const PROTOCOLS: [&str; 12] = [
    "tcp",
    "udp",
    "grpc",
    "grpc-web",
    "http",
    "http_proxy",
    "http2",
    "https",
    "tls",
    "mongo",
    "redis",
    "mysql",
];

/// "The protocol is taken from appProtocol if set, otherwise from the port's name."
pub(super) fn says_protocol(port: &Node) -> bool {
    let text = |key: &str| port.str_at(key).filter(|text| !text.is_empty());
    let number = port.get("port").map(Node::to_json).unwrap_or_default();
    let name = text("appProtocol")
        .or_else(|| text("name"))
        .unwrap_or_default()
        .to_ascii_lowercase();
    let first = name.split('-').next().unwrap_or_default();
    text("protocol") == Some("UDP")
        || ["kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss"].contains(&name.as_str())
        || name.starts_with("grpc-web")
        || PROTOCOLS.contains(&first)
        || ["25", "53", "3306", "27017"].contains(&number.as_str())
}

/// Istio's own Services, and those it makes for gateways, are not the user's to name.
pub(super) fn is_own(service: &Object) -> bool {
    service.label("istio").is_some()
        || service.label("release") == Some("istio")
        || service.label("gateway.istio.io/managed").is_some()
}
