//! The webhooks of Istio.

use std::collections::BTreeSet;

use crate::rules::analyzed::list;
use meshladder_capture::Kind;
use meshladder_mesh::selector::accepts;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

/// The label that names a revision or a tag.
const REVISION: &str = "istio.io/rev";

/// One webhook.
#[derive(Clone, Copy)]
pub(super) struct Hook<'m> {
    pub(super) config: &'m Object,
    pub(super) node: &'m Node,
    pub(super) name: &'m str,
}

impl<'m> Hook<'m> {
    /// Whether it is asked about pods in a namespace with these labels.
    pub(super) fn takes_namespace(&self, labels: &Node) -> bool {
        self.takes("namespaceSelector", labels)
    }

    /// Whether it is asked about a pod with these labels.
    pub(super) fn takes_pod(&self, labels: &Node) -> bool {
        self.takes("objectSelector", labels)
    }

    /// "Default to the empty LabelSelector, which matches everything."
    fn takes(&self, key: &str, labels: &Node) -> bool {
        let selector = self
            .node
            .get(key)
            .filter(|selector| selector.value != Value::Null);
        selector.is_none_or(|selector| accepts(selector, Some(labels)))
    }

    /// The revisions that its selectors name.
    pub(super) fn named(&self) -> BTreeSet<&'m str> {
        let mut found = BTreeSet::new();
        for selector in ["namespaceSelector", "objectSelector"]
            .into_iter()
            .filter_map(|key| self.node.get(key))
        {
            found.extend(selector.at(["matchLabels", REVISION]).and_then(Node::str));
            let expressions = list(selector, "matchExpressions").iter();
            let named = expressions.filter(|expression| expression.str_at("key") == Some(REVISION));
            found.extend(
                named
                    .flat_map(|expression| list(expression, "values"))
                    .filter_map(Node::str),
            );
        }
        found
    }

    /// A value of `clientConfig` that is there.
    pub(super) fn client(&self, key: &str) -> Option<&'m Node> {
        self.node
            .at(["clientConfig", key])
            .filter(|value| value.value != Value::Null)
    }
}

/// The webhooks of the configurations that inject: they name a revision, or a webhook whose name
/// ends in `istio.io`.
pub(super) fn injectors(mesh: &Mesh) -> Vec<Hook<'_>> {
    let configs = mesh.objects.of_kind(Kind::MutatingWebhook).iter();
    let is_istios = |config: &&Object| {
        of(config).any(|hook| hook.name.ends_with("istio.io")) || !revisions_of(config).is_empty()
    };
    configs.filter(is_istios).flat_map(of).collect()
}

/// The webhooks of a configuration.
pub(super) fn of(config: &Object) -> impl Iterator<Item = Hook<'_>> {
    list(&config.node, "webhooks").iter().map(move |node| Hook {
        config,
        node,
        name: node.str_at("name").unwrap_or_default(),
    })
}

/// The revisions that the webhooks name.
pub(super) fn revisions<'m>(hooks: &[Hook<'m>]) -> BTreeSet<&'m str> {
    hooks
        .iter()
        .flat_map(|hook| revisions_of(hook.config))
        .collect()
}

fn revisions_of(config: &Object) -> BTreeSet<&str> {
    config
        .label(REVISION)
        .into_iter()
        .chain(of(config).flat_map(|hook| hook.named()))
        .collect()
}
