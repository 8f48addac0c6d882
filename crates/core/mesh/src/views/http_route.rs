//! `HTTPRoute` of the Gateway API, and what is alike in the routes of other protocols.

use meshladder_text::tree::Node;

use super::{Leaf, texts};
use crate::references::{self, Reference};

object_view! {
    /// An `HTTPRoute` of the Gateway API.
    HttpRoute
}

part_view! {
    /// A rule of a route.
    RouteRule
}

impl<'m> HttpRoute<'m> {
    /// The hosts it is for; those of its listeners when there are none.
    pub fn hostnames(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.object.spec_list("hostnames"))
    }

    /// What it is attached to.
    pub fn parents(self) -> impl Iterator<Item = Reference<'m>> {
        references::parents(self.object)
    }

    /// Where it leads, mirrors too.
    pub fn backends(self) -> impl Iterator<Item = Reference<'m>> {
        references::backends(self.object)
    }

    /// Its rules.
    pub fn rules(self) -> impl Iterator<Item = RouteRule<'m>> {
        self.object.spec_list("rules").iter().map(RouteRule::of)
    }
}

impl<'m> RouteRule<'m> {
    /// What a request may be for it, as written.
    pub fn matches(self) -> &'m [Node] {
        self.node.items_at("matches")
    }

    /// What is done to requests, as written.
    pub fn filters(self) -> &'m [Node] {
        self.node.items_at("filters")
    }

    /// Where requests go, as written.
    pub fn backend_refs(self) -> &'m [Node] {
        self.node.items_at("backendRefs")
    }
}
