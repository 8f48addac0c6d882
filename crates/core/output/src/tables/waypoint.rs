//! `waypoint list` and `waypoint status`.

use std::borrow::Cow;

use super::Table;
use meshladder_mesh::Mesh;
use meshladder_mesh::ambient::waypoint::{WAYPOINT_CLASS, WAYPOINT_FOR};
use meshladder_mesh::injection::REVISION;
use meshladder_mesh::views::K8sGateway;
use meshladder_text::tree::Node;

/// The waypoints of a namespace, or of all: by namespace and name. istioctl looks at the class's
/// name alone.
pub fn select<'m>(mesh: &'m Mesh, namespace: Option<&str>) -> Vec<K8sGateway<'m>> {
    K8sGateway::all(&mesh.objects)
        .filter(|gateway| namespace.is_none_or(|own| own == gateway.namespace()))
        .filter(|gateway| {
            gateway
                .class_name()
                .is_some_and(|class| *class == WAYPOINT_CLASS)
        })
        .collect()
}

/// `waypoint list`; with namespaces when all of them are asked for.
pub fn list<'m>(waypoints: &[K8sGateway<'m>], is_all: bool) -> Table<'m> {
    const HEADER: [&str; 5] = [
        "NAMESPACE",
        "NAME",
        "REVISION",
        "TRAFFIC TYPE",
        "PROGRAMMED",
    ];
    let mut table = Table::new(5, &HEADER[usize::from(!is_all)..]);
    for gateway in waypoints {
        let condition = gateway.condition("Programmed");
        let programmed = condition.and_then(|condition| condition.str_at("status"));
        let cells: [Cow<'m, str>; 5] = [
            gateway.namespace().into(),
            gateway.name().into(),
            gateway.object.label(REVISION).unwrap_or("default").into(),
            gateway.object.label(WAYPOINT_FOR).unwrap_or("none").into(),
            programmed.unwrap_or("False").into(),
        ];
        table.row(cells.into_iter().skip(usize::from(!is_all)));
    }
    table
}

/// `waypoint status`: whether each is programmed, and what istiod says of it.
pub fn status<'m>(waypoints: &[K8sGateway<'m>], is_all: bool) -> Table<'m> {
    const HEADER: [&str; 6] = ["NAMESPACE", "NAME", "STATUS", "TYPE", "REASON", "MESSAGE"];
    let mut table = Table::new(5, &HEADER[usize::from(!is_all)..]);
    for gateway in waypoints {
        let condition = gateway.condition("Programmed").or_else(|| last(*gateway));
        let text = |key: &str| {
            condition
                .and_then(|condition| condition.str_at(key))
                .unwrap_or_default()
        };
        let cells: [Cow<'m, str>; 6] = [
            gateway.namespace().into(),
            gateway.name().into(),
            text("status").into(),
            text("type").into(),
            text("reason").into(),
            text("message").into(),
        ];
        table.row(cells.into_iter().skip(usize::from(!is_all)));
    }
    table
}

/// The condition that istioctl looked at last.
fn last(gateway: K8sGateway<'_>) -> Option<&Node> {
    gateway
        .object
        .node
        .at(["status", "conditions"])?
        .items()
        .last()
}
