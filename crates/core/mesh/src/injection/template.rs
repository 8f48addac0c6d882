//! What a pod is made from: its own object, or the template of its workload.

use super::INJECT;
use crate::Object;
use meshladder_capture::Kind;
use meshladder_text::tree::{Node, Value};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Template<'m> {
    /// The pod or workload.
    pub object: &'m Object,
    /// The object or the part of it that has the pod's `metadata` and `spec`.
    node: &'m Node,
}

impl<'m> Template<'m> {
    /// The template in an object; none for a kind that makes no pods.
    pub fn of(object: &'m Object) -> Option<Self> {
        let node = match object.kind()? {
            Kind::Pod => Some(&object.node),
            Kind::CronJob => object.spec_at(["jobTemplate", "spec", "template"]),
            kind if kind.is_workload() => object.spec_at(["template"]),
            _ => None,
        }?;
        Some(Self { object, node })
    }

    /// The namespace it is created in.
    pub fn namespace(self) -> &'m str {
        &self.object.id.namespace
    }

    /// Its labels.
    pub fn labels(self) -> Option<&'m Node> {
        self.node.at(["metadata", "labels"])
    }

    /// The pod's `spec`.
    pub fn spec(self) -> Option<&'m Node> {
        self.node.get("spec")
    }

    /// Its containers, those that start first among them: a native sidecar is one.
    pub fn containers(self) -> impl Iterator<Item = &'m Node> {
        let list = move |key: &str| {
            self.spec()
                .and_then(|spec| spec.get(key))
                .map_or(&[][..], Node::items)
        };
        list("containers").iter().chain(list("initContainers"))
    }

    /// Whether the proxy is one of its containers.
    pub fn has_proxy(self) -> bool {
        self.containers()
            .any(|container| container.str_at("name") == Some("istio-proxy"))
    }

    /// The value of a label.
    pub fn label(self, key: &str) -> Option<&'m Node> {
        self.labels()?.get(key)
    }

    /// `sidecar.istio.io/inject` with the word for where it stands. "The label is the new API; if
    /// both are present we prefer the label."
    pub fn inject(self) -> Option<(&'static str, &'m Node)> {
        let annotation = || self.annotation(INJECT).map(|node| ("annotation", node));
        self.label(INJECT)
            .map(|node| ("label", node))
            .or_else(annotation)
    }

    /// The value of an annotation.
    pub fn annotation(self, key: &str) -> Option<&'m Node> {
        self.node.at(["metadata", "annotations", key])
    }

    /// `spec.hostNetwork`, when it is true.
    pub(super) fn host_network(self) -> Option<&'m Node> {
        self.node
            .at(["spec", "hostNetwork"])
            .filter(|node| node.value == Value::Bool(true))
    }
}
