//! `EnvoyFilter`: patches of what istiod makes.

use meshladder_text::tree::Node;

use super::Leaf;

object_view! {
    /// An Istio `EnvoyFilter`.
    EnvoyFilter
}

part_view! {
    /// An element of `configPatches`.
    ConfigPatch
}

impl<'m> EnvoyFilter<'m> {
    /// The labels of the pods it is for; none when it is for all of its namespace.
    pub fn selector(self) -> Option<&'m Node> {
        let labels = self.object.spec_at(["workloadSelector", "labels"]);
        labels.filter(|labels| !labels.members().is_empty())
    }

    /// Its patches.
    pub fn patches(self) -> impl Iterator<Item = ConfigPatch<'m>> {
        let patches = self.object.spec_list("configPatches").iter();
        patches.map(ConfigPatch::of)
    }
}

impl<'m> ConfigPatch<'m> {
    /// What is patched: `HTTP_FILTER`, `CLUSTER`, …; empty without one.
    pub fn apply_to(self) -> &'m str {
        self.node.str_at("applyTo").unwrap_or_default()
    }

    /// `ANY`, `SIDECAR_INBOUND`, …; `ANY` unless it says otherwise.
    pub fn context(self) -> &'m str {
        self.leaf(["match", "context"])
            .map_or("ANY", |context| context.value)
    }

    /// `MERGE`, `INSERT_BEFORE`, …; empty without one.
    pub fn operation(self) -> &'m str {
        self.leaf(["patch", "operation"])
            .map_or("", |operation| operation.value)
    }

    /// What is put in.
    pub fn value(self) -> Option<&'m Node> {
        self.node.at(["patch", "value"])
    }

    /// The versions of proxies that it is for, as a regular expression.
    pub fn proxy_version(self) -> Option<Leaf<'m>> {
        self.leaf(["match", "proxy", "proxyVersion"])
    }

    fn leaf<const N: usize>(self, path: [&str; N]) -> Option<Leaf<'m>> {
        self.node.at(path).and_then(Leaf::text)
    }
}
