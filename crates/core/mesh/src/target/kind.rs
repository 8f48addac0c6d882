//! Kinds that have pods, in all the ways people write them.

use meshladder_capture::object::ObjectView;
use meshladder_text::tree::{Member, Node, Span, Value};

/// A kind whose pods can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    Pod,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    ReplicationController,
    Service,
    Gateway,
}

impl WorkloadKind {
    /// Singular, plural, short name, with or without the group.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        Some(
            match lower.split_once('.').map_or(&*lower, |(kind, _group)| kind) {
                "pod" | "pods" | "po" => Self::Pod,
                "deployment" | "deployments" | "deploy" => Self::Deployment,
                "replicaset" | "replicasets" | "rs" => Self::ReplicaSet,
                "statefulset" | "statefulsets" | "sts" => Self::StatefulSet,
                "daemonset" | "daemonsets" | "ds" => Self::DaemonSet,
                "job" | "jobs" => Self::Job,
                "replicationcontroller" | "replicationcontrollers" | "rc" => {
                    Self::ReplicationController
                }
                "service" | "services" | "svc" => Self::Service,
                "gateway" | "gateways" | "gtw" | "gw" => Self::Gateway,
                _ => return None,
            },
        )
    }

    pub(super) fn object_kind(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::ReplicationController => "ReplicationController",
            Self::Service => "Service",
            Self::Gateway => "Gateway",
        }
    }

    /// For messages: `Deployment ` or, for a pod, nothing.
    pub(super) fn prefix(self) -> String {
        if self == Self::Pod {
            String::new()
        } else {
            format!("{} ", self.object_kind())
        }
    }

    /// The selector of an object of this kind, as a `LabelSelector`. None for a Service without
    /// one, and for an Istio Gateway, which selects gateways rather than having pods.
    pub(super) fn selector(self, object: ObjectView<'_>) -> Option<Node> {
        match self {
            Self::Pod => None,
            Self::Service | Self::ReplicationController => Some(match_labels(
                object
                    .node
                    .at(["spec", "selector"])
                    .filter(|s| !s.members().is_empty())?
                    .clone(),
            )),
            Self::Gateway if object.group() != "gateway.networking.k8s.io" => None,
            Self::Gateway => Some(match_labels(gateway_label(object.name()))),
            _ => object.node.at(["spec", "selector"]).cloned(),
        }
    }

    /// Whether an owner such as `kubernetes://apis/apps/v1/namespaces/shop/deployments/cart` is
    /// this workload.
    pub(super) fn owns(self, owner: &str, name: &str) -> bool {
        let mut parts = owner.rsplit('/');
        parts.next() == Some(name) && parts.next().and_then(Self::parse) == Some(self)
    }
}

fn object(key: &str, value: Node) -> Node {
    let span = value.span;
    let member = Member {
        key: key.into(),
        key_span: span,
        value,
    };
    Node {
        value: Value::Object([member].into()),
        span,
    }
}

fn match_labels(labels: Node) -> Node {
    object("matchLabels", labels)
}

/// "Gateway API: a managed gateway's pods carry the name of their Gateway."
fn gateway_label(name: &str) -> Node {
    object(
        "gateway.networking.k8s.io/gateway-name",
        Node {
            value: Value::String(name.into()),
            span: Span::default(),
        },
    )
}
