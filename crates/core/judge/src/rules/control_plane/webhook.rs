//! Istio's webhooks, of both kinds.

use meshladder_capture::Kind;
use meshladder_mesh::Mesh;
use meshladder_mesh::injection::Injector;
use meshladder_text::tree::Node;

/// The webhooks that validate Istio's objects, seen as what they have in common with injectors.
pub(super) fn validators(mesh: &Mesh) -> Vec<Injector<'_>> {
    let configs = mesh.objects.of_kind(Kind::ValidatingWebhook).iter();
    let hooks = configs.flat_map(|config| {
        let hooks = config
            .node
            .get("webhooks")
            .map_or(&[][..], Node::items)
            .iter();
        hooks
            .filter(|hook| is_validator(hook))
            .map(move |node| Injector {
                config,
                node,
                name: node.str_at("name").unwrap_or_default(),
                revision: config.label("istio.io/rev"),
                tag: config.label("istio.io/tag"),
            })
    });
    hooks.collect()
}

/// By the names that Istio gives; others validate Istio's objects too, such as policy engines.
fn is_validator(hook: &Node) -> bool {
    hook.str_at("name")
        .is_some_and(|name| name.ends_with("validation.istio.io"))
}
