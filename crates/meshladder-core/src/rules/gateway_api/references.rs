//! What routes of the Gateway API refer to: parents and backends.

use crate::doc::tree::Node;
use crate::mesh::{Mesh, Stored};

pub(super) const GROUP: &str = "gateway.networking.k8s.io";
pub(super) const GATEWAYS: &str = "k8s/gateways.gateway.networking.k8s.io.json";
pub(super) const REFERENCE_GRANTS: &str = "k8s/referencegrants.gateway.networking.k8s.io.json";
pub(super) const HTTP_ROUTES: &str = "k8s/httproutes.gateway.networking.k8s.io.json";
pub(super) const GRPC_ROUTES: &str = "k8s/grpcroutes.gateway.networking.k8s.io.json";
pub(super) const TCP_ROUTES: &str = "k8s/tcproutes.gateway.networking.k8s.io.json";
pub(super) const TLS_ROUTES: &str = "k8s/tlsroutes.gateway.networking.k8s.io.json";

/// A reference to an object, with what it leaves out filled in.
#[derive(Clone, Copy)]
pub(super) struct Reference<'m> {
    pub(super) node: &'m Node,
    pub(super) group: &'m str,
    pub(super) kind: &'m str,
    pub(super) namespace: &'m str,
    pub(super) name: &'m str,
}

impl<'m> Reference<'m> {
    fn of(route: &'m Stored, node: &'m Node, group: &'static str, kind: &'static str) -> Self {
        let text = |key: &str| node.str_at(key);
        Self {
            node,
            group: text("group").unwrap_or(group),
            kind: text("kind").unwrap_or(kind),
            namespace: text("namespace").filter(|text| !text.is_empty()).unwrap_or(&route.id.namespace),
            name: text("name").unwrap_or_default(),
        }
    }

    /// Whether it is a Kubernetes Service.
    pub(super) fn is_service(&self) -> bool {
        (self.group.is_empty() || self.group == "core") && self.kind == "Service"
    }

    /// Whether it is a Gateway.
    pub(super) fn is_gateway(&self) -> bool {
        self.group == GROUP && self.kind == "Gateway"
    }
}

/// The Gateways of the Gateway API.
pub(super) fn gateways(mesh: &Mesh) -> impl Iterator<Item = &Stored> {
    mesh.objects.of("Gateway", GROUP)
}

/// All routes.
pub(super) fn routes(mesh: &Mesh) -> impl Iterator<Item = &Stored> {
    ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"].into_iter().flat_map(|kind| mesh.objects.of(kind, GROUP))
}

/// What a route is attached to.
pub(super) fn parents(route: &Stored) -> impl Iterator<Item = Reference<'_>> {
    route.spec_list("parentRefs").iter().map(|node| Reference::of(route, node, GROUP, "Gateway"))
}

/// Where a route leads, mirrors too.
pub(super) fn backends(route: &Stored) -> impl Iterator<Item = Reference<'_>> {
    let rules = route.spec_list("rules").iter();
    let nodes = rules.flat_map(|rule| {
        let refs = rule.items_at("backendRefs").iter();
        let filters = rule.items_at("filters").iter().chain(refs.clone().flat_map(|one| one.items_at("filters")));
        refs.chain(filters.filter_map(|filter| filter.at(["requestMirror", "backendRef"])))
    });
    nodes.map(|node| Reference::of(route, node, "", "Service"))
}
