//! What pods are made from: a Deployment's template, or the pod itself.

use meshladder_capture::Kind;
use meshladder_text::tree::{Node, Value};

use super::pod::containers;
use super::{Container, Namespace, Pod};
use crate::injection::INJECT;
use crate::{Mesh, Object};

/// The part of an object that has a pod's `metadata` and `spec`.
#[derive(Clone, Copy, Debug)]
pub struct PodTemplate<'m> {
    /// The pod, or what makes pods.
    pub object: &'m Object,
    /// The template; the object itself for a pod.
    pub node: &'m Node,
}

impl<'m> PodTemplate<'m> {
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

    pub(crate) fn of_pod(pod: &'m Object) -> Self {
        Self {
            object: pod,
            node: &pod.node,
        }
    }

    /// The namespace it is created in.
    pub fn namespace(self) -> &'m str {
        &self.object.id.namespace
    }

    /// Its labels.
    pub fn labels(self) -> Option<&'m Node> {
        self.node.at(["metadata", "labels"])
    }

    /// The value of a label.
    pub fn label(self, key: &str) -> Option<&'m Node> {
        self.labels()?.get(key)
    }

    /// The value of an annotation.
    pub fn annotation(self, key: &str) -> Option<&'m Node> {
        self.node.at(["metadata", "annotations", key])
    }

    /// The pod's `spec`.
    pub fn spec(self) -> Option<&'m Node> {
        self.node.get("spec")
    }

    /// Its containers, the lasting ones first: a native sidecar is an init container.
    pub fn containers(self) -> impl Iterator<Item = Container<'m>> {
        containers(self.node)
    }

    /// The container of the proxy.
    pub fn proxy(self) -> Option<Container<'m>> {
        self.containers().find(Container::is_proxy)
    }

    /// Whether the proxy is one of its containers.
    pub fn has_proxy(self) -> bool {
        self.proxy().is_some()
    }

    /// The service account that it runs as; `default` unless it names one.
    pub fn service_account(self) -> &'m str {
        self.spec()
            .and_then(|spec| spec.str_at("serviceAccountName"))
            .unwrap_or("default")
    }

    /// `sidecar.istio.io/inject` with the word for where it stands. "The label is the new API; if
    /// both are present we prefer the label."
    pub fn inject(self) -> Option<(&'static str, &'m Node)> {
        let annotation = || self.annotation(INJECT).map(|node| ("annotation", node));
        self.label(INJECT)
            .map(|node| ("label", node))
            .or_else(annotation)
    }

    /// `spec.hostNetwork`, when it is true.
    pub fn host_network(self) -> Option<&'m Node> {
        self.node
            .at(["spec", "hostNetwork"])
            .filter(|node| node.value == Value::Bool(true))
    }

    /// Whether its pods have a proxy, will get one, or are ambient, as far as labels tell. A pod
    /// that runs is taken as it is. Which webhook injects what, [`Mesh::injectors`] knows.
    pub fn is_in_mesh(self, mesh: &Mesh) -> bool {
        if self.object.id.is(Kind::Pod) {
            // Its annotation says so, whether or not it runs yet.
            if Pod::of(self.object).is_ambient() {
                return true;
            }
            if self.object.node.get("status").is_some() {
                return self.has_proxy();
            }
        }
        if let Some((_, inject)) = self.inject() {
            return inject.str() == Some("true");
        }
        let namespace = Namespace::get(&mesh.objects, "", self.namespace());
        self.has_proxy()
            || namespace.is_some_and(|namespace| {
                namespace.asks_for_proxies() || namespace.is_labelled_ambient()
            })
    }
}
