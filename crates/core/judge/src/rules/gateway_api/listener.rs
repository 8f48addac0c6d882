//! Listeners and addresses of Gateways.

use meshladder_mesh::Object;
use meshladder_text::tree::Node;

/// What tells a listener from others: `HTTP 80 shop.example.test`.
pub(super) fn key(listener: &Node) -> String {
    let port = listener.get("port").map(Node::to_json).unwrap_or_default();
    let hostname = listener
        .str_at("hostname")
        .filter(|name| !name.is_empty())
        .unwrap_or("*");
    format!(
        "{} {port} {hostname}",
        listener.str_at("protocol").unwrap_or_default()
    )
}

/// The addresses that a Gateway asks for, each with its type.
pub(super) fn addresses(gateway: &Object) -> impl Iterator<Item = (&str, &str)> {
    gateway.spec_list("addresses").iter().filter_map(|address| {
        let value = address.str_at("value").filter(|value| !value.is_empty())?;
        Some((address.str_at("type").unwrap_or("IPAddress"), value))
    })
}
