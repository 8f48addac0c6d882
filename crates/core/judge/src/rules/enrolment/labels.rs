//! What a namespace's labels ask for.

use meshladder_capture::Kind;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml;

/// Namespaces that ask for nothing; Istio's own is not meant to.
pub(super) fn unlabelled(mesh: &Mesh) -> impl Iterator<Item = &Object> {
    const LABELS: [&str; 3] = ["istio-injection", "istio.io/rev", "istio.io/dataplane-mode"];
    let is_own = |namespace: &Object| *namespace.id.name == *mesh.config.root_namespace;
    let namespaces = mesh.objects.of_kind(Kind::Namespace).iter();
    namespaces.filter(move |ns| !is_own(ns) && LABELS.iter().all(|label| ns.label(label).is_none()))
}

/// Whether the injector takes namespaces that ask for nothing: `enableNamespacesByDefault` in its
/// values.
pub(super) fn is_default(mesh: &Mesh) -> bool {
    let map = mesh.objects.get(
        Kind::ConfigMap,
        &mesh.config.root_namespace,
        "istio-sidecar-injector",
    );
    let values = map.and_then(values);
    let on = values
        .as_ref()
        .and_then(|values| values.at(["sidecarInjectorWebhook", "enableNamespacesByDefault"]));
    on.is_some_and(|on| on.value == Value::Bool(true))
}

/// The values of an injector's ConfigMap.
pub(super) fn values(map: &Object) -> Option<Node> {
    let text = map.node.at(["data", "values"])?.str()?;
    yaml::load(text).documents.into_iter().next()
}
