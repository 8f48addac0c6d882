//! What routes of the Gateway API refer to: parents and backends.

use super::Object;
use meshladder_text::tree::Node;

/// The group of the Gateway API.
pub const GROUP: &str = "gateway.networking.k8s.io";

/// A reference to an object, with what it leaves out filled in.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'m> {
    /// The reference, as written.
    pub node: &'m Node,
    /// Empty for the core group.
    pub group: &'m str,
    /// Such as `Service`.
    pub kind: &'m str,
    /// That of the route, unless it names another.
    pub namespace: &'m str,
    /// Its name.
    pub name: &'m str,
}

impl<'m> Reference<'m> {
    /// A reference of a route; `group` and `kind` are what it means when it does not say.
    pub fn of(route: &'m Object, node: &'m Node, group: &'static str, kind: &'static str) -> Self {
        let text = |key: &str| node.str_at(key);
        Self {
            node,
            group: text("group").unwrap_or(group),
            kind: text("kind").unwrap_or(kind),
            namespace: text("namespace")
                .filter(|text| !text.is_empty())
                .unwrap_or(&route.id.namespace),
            name: text("name").unwrap_or_default(),
        }
    }

    /// Whether it is a Kubernetes Service.
    pub fn is_service(&self) -> bool {
        (self.group.is_empty() || self.group == "core") && self.kind == "Service"
    }

    /// Whether it is a Gateway.
    pub fn is_gateway(&self) -> bool {
        self.group == GROUP && self.kind == "Gateway"
    }
}

/// What a route is attached to.
pub fn parents(route: &Object) -> impl Iterator<Item = Reference<'_>> {
    route
        .spec_list("parentRefs")
        .iter()
        .map(|node| Reference::of(route, node, GROUP, "Gateway"))
}

/// Where a route leads, mirrors too.
pub fn backends(route: &Object) -> impl Iterator<Item = Reference<'_>> {
    let rules = route.spec_list("rules").iter();
    let nodes = rules.flat_map(|rule| {
        let refs = rule.items_at("backendRefs").iter();
        let filters = rule
            .items_at("filters")
            .iter()
            .chain(refs.clone().flat_map(|one| one.items_at("filters")));
        refs.chain(filters.filter_map(|filter| filter.at(["requestMirror", "backendRef"])))
    });
    nodes.map(|node| Reference::of(route, node, "", "Service"))
}
