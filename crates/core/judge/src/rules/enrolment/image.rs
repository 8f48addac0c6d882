//! The image of the proxy that the injector gives to a pod.

use std::collections::BTreeMap;

use super::labels::values;
use crate::rules::analyzed::proxy_image;
use meshladder_capture::Kind;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;
use meshladder_text::yaml;

/// The images by revision.
pub(super) struct Images<'m> {
    by_revision: BTreeMap<&'m str, String>,
}

impl<'m> Images<'m> {
    /// As the ConfigMaps of the injectors have them.
    pub(super) fn of(mesh: &'m Mesh) -> Self {
        let maps = mesh
            .objects
            .of_kind(Kind::ConfigMap)
            .iter()
            .filter_map(|map| {
                let revision = map.id.name.strip_prefix("istio-sidecar-injector")?;
                let revision = if revision.is_empty() {
                    "default"
                } else {
                    revision.strip_prefix('-')?
                };
                Some((revision, image(&values(map)?)?))
            });
        Self {
            by_revision: maps.collect(),
        }
    }

    pub(super) fn of_revision(&self, revision: &str) -> Option<&str> {
        self.by_revision.get(revision).map(String::as_str)
    }
}

/// The image with the variant that holds for the pod: `proxyv2:1.24-distroless`. A tag that names a
/// variant already loses it first, and `default` is the one without a name.
pub(super) fn with_variant(mesh: &Mesh, image: &str, pod: &Object) -> String {
    let Some(variant) = variant(mesh, pod).filter(|variant| !variant.is_empty()) else {
        return image.to_owned();
    };
    let mut known = ["-distroless", "-debug"].into_iter();
    let plain = known
        .find_map(|suffix| image.strip_suffix(suffix))
        .unwrap_or(image);
    match &*variant {
        "default" => plain.to_owned(),
        variant => format!("{plain}-{variant}"),
    }
}

/// The proxy's image, when the injector is to replace it.
pub(super) fn automatic(spec: &Node) -> Option<&Node> {
    proxy_image(spec).filter(|image| image.str() == Some("auto"))
}

/// `global.proxy.image` of the values: a whole name, or one that hub and tag are put around.
fn image(values: &Node) -> Option<String> {
    let text = |path: &[&str]| {
        path.iter()
            .try_fold(values, |node, key| node.get(key))
            .and_then(Node::str)
    };
    let image = text(&["global", "proxy", "image"])?;
    if image.contains('/') {
        return Some(image.to_owned());
    }
    Some(format!(
        "{}/{image}:{}",
        text(&["global", "hub"])?,
        text(&["global", "tag"])?
    ))
}

/// The most specific of: the mesh's, the root namespace's, the namespace's, the workload's, the
/// pod's own.
fn variant(mesh: &Mesh, pod: &Object) -> Option<String> {
    let of = |config: &Node| {
        config
            .at(["image", "imageType"])
            .and_then(Node::str)
            .map(str::to_owned)
    };
    let named = pod.annotation("sidecar.istio.io/proxyImageType");
    let own = pod.annotation("proxy.istio.io/config").map(yaml::load);
    let own = own.and_then(|own| own.documents.first().and_then(of));
    let own = named.map(str::to_owned).or(own);
    let of_kind = |namespace: &str, selects: bool| {
        let fits = |config: &&Object| {
            let labels = config.spec_at(["selector", "matchLabels"]);
            labels.is_some() == selects
                && labels.is_none_or(|labels| has_labels(labels, pod.labels()))
        };
        mesh.objects
            .in_namespace(Kind::ProxyConfig, namespace)
            .filter(fits)
            .find_map(|config| of(config.spec()?))
    };
    own.or_else(|| of_kind(&pod.id.namespace, true))
        .or_else(|| of_kind(&pod.id.namespace, false))
        .or_else(|| of_kind(&mesh.config.root_namespace, false))
        .or_else(|| of(mesh.config.tree.as_ref()?.get("defaultConfig")?))
}
