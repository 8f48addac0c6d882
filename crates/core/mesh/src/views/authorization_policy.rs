//! `AuthorizationPolicy`: who may do what.

use meshladder_text::tree::Node;

use super::{Leaf, text, texts};

object_view! {
    /// An Istio `AuthorizationPolicy`.
    AuthorizationPolicy
}

part_view! {
    /// A rule of a policy: a request matches one when it matches each of its parts.
    PolicyRule
}

part_view! {
    /// Where a request comes from: `source` of an element of `from`.
    Source
}

part_view! {
    /// What a request is: `operation` of an element of `to`.
    Operation
}

part_view! {
    /// What else must hold: an element of `when`.
    Condition
}

impl<'m> AuthorizationPolicy<'m> {
    /// `ALLOW` unless it says otherwise.
    pub fn action(self) -> &'m str {
        let action = self.object.spec().and_then(|spec| text(spec, "action"));
        action.map_or("ALLOW", |action| action.value)
    }

    /// Its rules.
    pub fn rules(self) -> impl Iterator<Item = PolicyRule<'m>> {
        self.object.spec_list("rules").iter().map(PolicyRule::of)
    }

    /// Whether it only logs what it would do.
    pub fn is_dry_run(self) -> bool {
        self.object.annotation("istio.io/dry-run") == Some("true")
    }

    /// Who decides, for the action `CUSTOM`.
    pub fn provider(self) -> Option<Leaf<'m>> {
        self.object
            .spec_at(["provider", "name"])
            .and_then(Leaf::text)
    }

    /// The labels of the pods it is for.
    pub fn selector(self) -> Option<&'m Node> {
        self.object.spec_at(["selector", "matchLabels"])
    }
}

impl<'m> PolicyRule<'m> {
    /// Where a request may come from; from anywhere when there is none.
    pub fn sources(self) -> impl Iterator<Item = Source<'m>> {
        let from = self.node.items_at("from").iter();
        from.filter_map(|one| one.get("source")).map(Source::of)
    }

    /// What a request may be; anything when there is none.
    pub fn operations(self) -> impl Iterator<Item = Operation<'m>> {
        let to = self.node.items_at("to").iter();
        to.filter_map(|one| one.get("operation")).map(Operation::of)
    }

    /// What else must hold.
    pub fn conditions(self) -> impl Iterator<Item = Condition<'m>> {
        self.node.items_at("when").iter().map(Condition::of)
    }
}

impl<'m> Source<'m> {
    /// The values of a member: `principals`, `notNamespaces`, `ipBlocks`, …
    pub fn values(self, key: &str) -> impl Iterator<Item = Leaf<'m>> + use<'m> {
        texts(self.node.items_at(key))
    }
}

impl<'m> Operation<'m> {
    /// The values of a member: `hosts`, `notPaths`, `methods`, `ports`, …
    pub fn values(self, key: &str) -> impl Iterator<Item = Leaf<'m>> + use<'m> {
        texts(self.node.items_at(key))
    }
}

impl<'m> Condition<'m> {
    /// What is looked at: `request.headers[x]`, `source.ip`, …
    pub fn key(self) -> &'m str {
        self.node.str_at("key").unwrap_or_default()
    }

    /// What it may be.
    pub fn values(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("values"))
    }

    /// What it may not be.
    pub fn not_values(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("notValues"))
    }
}
