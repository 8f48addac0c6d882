//! `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration`.

use meshladder_text::tree::Node;

use super::text;

object_view! {
    /// A `MutatingWebhookConfiguration`: what injects is one.
    MutatingWebhook
}

object_view! {
    /// A `ValidatingWebhookConfiguration`.
    ValidatingWebhook
}

part_view! {
    /// One webhook of a configuration.
    Webhook
}

impl<'m> MutatingWebhook<'m> {
    /// Its webhooks.
    pub fn webhooks(self) -> impl Iterator<Item = Webhook<'m>> {
        webhooks(&self.object.node)
    }
}

impl<'m> ValidatingWebhook<'m> {
    /// Its webhooks.
    pub fn webhooks(self) -> impl Iterator<Item = Webhook<'m>> {
        webhooks(&self.object.node)
    }
}

fn webhooks(configuration: &Node) -> impl Iterator<Item = Webhook<'_>> {
    configuration.items_at("webhooks").iter().map(Webhook::of)
}

impl<'m> Webhook<'m> {
    /// Its name.
    pub fn name(self) -> &'m str {
        self.node.str_at("name").unwrap_or_default()
    }

    /// Where it is asked, and the authority that its certificate is checked with.
    pub fn client_config(self) -> Option<&'m Node> {
        self.node.get("clientConfig")
    }

    /// The label selector of the namespaces it is for.
    pub fn namespace_selector(self) -> Option<&'m Node> {
        self.node.get("namespaceSelector")
    }

    /// The label selector of the objects it is for.
    pub fn object_selector(self) -> Option<&'m Node> {
        self.node.get("objectSelector")
    }

    /// Whether nothing is made when nobody answers. "Defaults to Fail."
    pub fn fails_closed(self) -> bool {
        text(self.node, "failurePolicy").is_none_or(|policy| *policy != "Ignore")
    }
}
