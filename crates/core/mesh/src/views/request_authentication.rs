//! `RequestAuthentication`: which tokens are taken, and from where.

use meshladder_text::tree::Node;

use super::{Leaf, filled, texts};

object_view! {
    /// An Istio `RequestAuthentication`.
    RequestAuthentication
}

part_view! {
    /// The tokens of an issuer.
    JwtRule
}

impl<'m> RequestAuthentication<'m> {
    /// The labels of the pods it is for; none when it is for all of its namespace.
    pub fn selector(self) -> Option<&'m Node> {
        let labels = self.object.spec_at(["selector", "matchLabels"]);
        labels.filter(|labels| !labels.members().is_empty())
    }

    /// The tokens it takes.
    pub fn jwt_rules(self) -> impl Iterator<Item = JwtRule<'m>> {
        self.object.spec_list("jwtRules").iter().map(JwtRule::of)
    }
}

impl<'m> JwtRule<'m> {
    /// Who issues them; empty without one.
    pub fn issuer(self) -> &'m str {
        self.node.str_at("issuer").unwrap_or_default()
    }

    /// Where the keys are fetched.
    pub fn jwks_uri(self) -> Option<Leaf<'m>> {
        filled(self.node, "jwksUri").or_else(|| filled(self.node, "jwks_uri"))
    }

    /// The keys themselves.
    pub fn jwks(self) -> Option<Leaf<'m>> {
        filled(self.node, "jwks")
    }

    /// Whom they may be for; anybody when there is none.
    pub fn audiences(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("audiences"))
    }

    /// The headers they are read from, each with its prefix.
    pub fn from_headers(self) -> &'m [Node] {
        self.node.items_at("fromHeaders")
    }

    /// The query parameters they are read from.
    pub fn from_params(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("fromParams"))
    }
}
