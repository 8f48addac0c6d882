//! Ambient mode, as objects say it: which pods' traffic a node's ztunnel takes, what decided so,
//! and who takes part in it on each node.

use meshladder_capture::Kind;
use meshladder_text::tree::Node;

use super::{Mesh, Object};
use crate::views::{ConfigMap, Namespace, Pod, PodTemplate};

pub mod conversion;
pub mod waypoint;

/// How the traffic of pods is taken: `ambient`, or `none`.
pub const DATAPLANE_MODE: &str = "istio.io/dataplane-mode";

/// What the node's agent writes on a pod whose traffic it redirects.
pub const REDIRECTION: &str = "ambient.istio.io/redirection";

/// What the injector writes on a pod.
const SIDECAR_STATUS: &str = "sidecar.istio.io/status";

/// The port of a tunnel between two ztunnels, or to a waypoint.
pub const HBONE: u16 = 15008;

/// Whether the traffic of a pod is ztunnel's.
#[derive(Clone, Copy, Debug)]
pub struct AmbientEnrolment<'m> {
    /// Whether the node's agent would take it.
    pub is_wanted: bool,
    /// What decides.
    pub reason: AmbientReason,
    /// The object that decides, and the part of it that does.
    pub decided_by: (&'m Object, &'m Node),
    /// Whether the agent has taken it.
    pub redirection: Redirection,
}

/// What decides whether a pod is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbientReason {
    /// "a pod on the host's network cannot be redirected"
    HostNetwork,
    /// A sidecar always wins.
    Sidecar,
    /// The agent leaves the namespace alone, whatever its labels.
    ExcludedNamespace,
    /// The pod's own label asks for it.
    PodLabel,
    /// The namespace's label asks for it.
    NamespaceLabel,
    /// The pod's own label is against it.
    OptedOut,
    /// No label asks for it.
    NotLabelled,
    /// It is of another kind that its labels keep outside: a gateway, a waypoint, ztunnel itself.
    Infrastructure,
}

/// What the node's agent says of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirection {
    /// Its traffic is redirected, and ztunnel has it.
    Enabled,
    /// Its traffic is redirected, and ztunnel has not taken it over.
    Pending,
    /// Nothing.
    None,
}

impl AmbientEnrolment<'_> {
    /// Whether ztunnel has it: then peers reach it by tunnel.
    pub fn is_captured(&self) -> bool {
        self.redirection == Redirection::Enabled && self.reason != AmbientReason::Sidecar
    }
}

impl Redirection {
    /// What a pod's annotation says.
    pub fn of(pod: &Object) -> Self {
        match pod.annotation(REDIRECTION) {
            Some("enabled") => Self::Enabled,
            Some("pending") => Self::Pending,
            _ => Self::None,
        }
    }
}

/// Who takes part in ambient mode on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAgent {
    /// istio-cni, which redirects.
    Cni,
    /// ztunnel, which is redirected to.
    Ztunnel,
}

impl NodeAgent {
    /// The label of its pods.
    fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Cni => ("k8s-app", "istio-cni-node"),
            Self::Ztunnel => ("app", "ztunnel"),
        }
    }

    /// As people call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cni => "istio-cni",
            Self::Ztunnel => "ztunnel",
        }
    }

    /// Whether a pod is one.
    pub fn is(self, pod: &Object) -> bool {
        let (key, value) = self.label();
        pod.label(key) == Some(value)
    }
}

impl Mesh {
    /// Whether the traffic of a pod is ztunnel's, and what decided.
    pub fn ambient_enrolment<'m>(&'m self, pod: &'m Object) -> AmbientEnrolment<'m> {
        let (reason, decided_by) = self.ambient_reason(PodTemplate::of_pod(pod));
        let is_wanted = matches!(
            reason,
            AmbientReason::PodLabel | AmbientReason::NamespaceLabel
        );
        AmbientEnrolment {
            is_wanted,
            reason,
            decided_by,
            redirection: Redirection::of(pod),
        }
    }

    /// Whether a pod is ztunnel's, or its labels or its namespace's are about ambient mode: what is
    /// said of sidecars does not concern it.
    pub fn is_of_ambient(&self, pod: &Object) -> bool {
        Redirection::of(pod) != Redirection::None
            || pod.label(DATAPLANE_MODE) == Some("ambient")
            || Namespace::get(&self.objects, "", &pod.id.namespace)
                .is_some_and(Namespace::is_ambient)
    }

    /// The node agent's own order of questions.
    fn ambient_reason<'m>(
        &'m self,
        pod: PodTemplate<'m>,
    ) -> (AmbientReason, (&'m Object, &'m Node)) {
        let object = pod.object;
        if let Some(node) = pod.host_network() {
            return (AmbientReason::HostNetwork, (object, node));
        }
        if let Some(node) = pod.annotation(SIDECAR_STATUS) {
            return (AmbientReason::Sidecar, (object, node));
        }
        if pod.has_proxy() {
            return (AmbientReason::Infrastructure, (object, &object.node));
        }
        let namespace = Namespace::get(&self.objects, "", pod.namespace());
        let mode = pod.label(DATAPLANE_MODE);
        let labels = namespace.and_then(|namespace| namespace.object.labels());
        let asks = labels.and_then(|labels| labels.get(DATAPLANE_MODE));
        let is_asked = mode.and_then(Node::str) == Some("ambient")
            || asks.and_then(Node::str) == Some("ambient");
        if let Some(map) = is_asked.then(|| self.excludes(pod.namespace())).flatten() {
            return (AmbientReason::ExcludedNamespace, map);
        }
        match (mode, asks, namespace) {
            (Some(mode), _, _) if mode.str() == Some("ambient") => {
                (AmbientReason::PodLabel, (object, mode))
            }
            (Some(mode), Some(asks), _)
                if mode.str() == Some("none") && asks.str() == Some("ambient") =>
            {
                (AmbientReason::OptedOut, (object, mode))
            }
            (_, Some(asks), Some(namespace)) if asks.str() == Some("ambient") => {
                (AmbientReason::NamespaceLabel, (namespace.object, asks))
            }
            (_, _, Some(namespace)) => {
                let node = labels.unwrap_or(&namespace.object.node);
                (AmbientReason::NotLabelled, (namespace.object, node))
            }
            (_, _, None) => (AmbientReason::NotLabelled, (object, &object.node)),
        }
    }

    /// The part of istio-cni's configuration that leaves a namespace out.
    fn excludes(&self, namespace: &str) -> Option<(&Object, &Node)> {
        let map = self.cni_config()?;
        let excluded = map.data("EXCLUDE_NAMESPACES")?;
        let mut names = excluded.split([',', ' ']).map(str::trim);
        names
            .any(|name| name == namespace)
            .then_some((map.object, excluded.node))
    }

    /// istio-cni's configuration.
    pub fn cni_config(&self) -> Option<ConfigMap<'_>> {
        ConfigMap::all(&self.objects).find(|map| map.name() == "istio-cni-config")
    }

    /// Whether there is anything of ambient mode here: a ztunnel, or a namespace or pod that asks
    /// for it.
    pub fn has_ambient(&self) -> bool {
        Namespace::all(&self.objects).any(Namespace::is_labelled_ambient)
            || Pod::all(&self.objects)
                .any(|pod| NodeAgent::Ztunnel.is(pod.object) || pod.is_ambient())
    }

    /// The pods of a node agent.
    pub fn node_agents(&self, agent: NodeAgent) -> impl Iterator<Item = Pod<'_>> {
        Pod::all(&self.objects).filter(move |pod| agent.is(pod.object))
    }

    /// The pod of a node agent that runs on a node.
    pub fn node_agent(&self, agent: NodeAgent, node: &str) -> Option<Pod<'_>> {
        let mut on_node = self
            .node_agents(agent)
            .filter(|pod| pod.node_name().is_some_and(|name| *name == node));
        let first = on_node.next()?;
        // Of two, as while one replaces another, the one that is ready.
        if first.is_ready() {
            return Some(first);
        }
        on_node.find(|pod| pod.is_ready()).or(Some(first))
    }

    /// The DaemonSet of a node agent.
    pub fn node_agent_set(&self, agent: NodeAgent) -> Option<&Object> {
        let (key, value) = agent.label();
        self.objects.of_kind(Kind::DaemonSet).iter().find(|set| {
            let label = set.spec_at(["template", "metadata", "labels", key]);
            label.and_then(Node::str) == Some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

    #[test]
    fn labels_and_what_outweighs_them_decide_who_is_captured() {
        let mesh = mesh_of(
            "kind: Namespace
metadata: {name: shop, labels: {istio.io/dataplane-mode: ambient}}
---
kind: Namespace
metadata: {name: tools}
---
kind: Namespace
metadata: {name: kube-system, labels: {istio.io/dataplane-mode: ambient}}
---
kind: ConfigMap
metadata: {name: istio-cni-config, namespace: istio-system}
data: {EXCLUDE_NAMESPACES: 'kube-system, other'}
---
kind: Pod
metadata: {name: plain, namespace: shop, annotations: {ambient.istio.io/redirection: enabled}}
---
kind: Pod
metadata: {name: out, namespace: shop, labels: {istio.io/dataplane-mode: none}}
---
kind: Pod
metadata: {name: host, namespace: shop}
spec: {hostNetwork: true}
---
kind: Pod
metadata: {name: sidecar, namespace: shop, annotations: {sidecar.istio.io/status: '{}'}}
---
kind: Pod
metadata: {name: plain, namespace: tools}
---
kind: Pod
metadata: {name: own, namespace: tools, labels: {istio.io/dataplane-mode: ambient}, annotations: {ambient.istio.io/redirection: pending}}
---
kind: Pod
metadata: {name: dns, namespace: kube-system}
",
        );
        for (namespace, name, wanted, reason, redirection) in [
            (
                "shop",
                "plain",
                true,
                AmbientReason::NamespaceLabel,
                Redirection::Enabled,
            ),
            (
                "shop",
                "out",
                false,
                AmbientReason::OptedOut,
                Redirection::None,
            ),
            (
                "shop",
                "host",
                false,
                AmbientReason::HostNetwork,
                Redirection::None,
            ),
            (
                "shop",
                "sidecar",
                false,
                AmbientReason::Sidecar,
                Redirection::None,
            ),
            (
                "tools",
                "plain",
                false,
                AmbientReason::NotLabelled,
                Redirection::None,
            ),
            (
                "tools",
                "own",
                true,
                AmbientReason::PodLabel,
                Redirection::Pending,
            ),
            (
                "kube-system",
                "dns",
                false,
                AmbientReason::ExcludedNamespace,
                Redirection::None,
            ),
        ] {
            let pod = mesh
                .objects
                .get(Kind::Pod, namespace, name)
                .expect("it is there");
            let found = mesh.ambient_enrolment(pod);
            assert_eq!(
                (found.is_wanted, found.reason, found.redirection),
                (wanted, reason, redirection),
                "{namespace}/{name}"
            );
        }
    }
}
