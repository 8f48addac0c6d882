//! Kinds whose pods can be found.

use meshladder_capture::Kind;
use meshladder_capture::object::ObjectView;
use meshladder_text::tree::{Member, Node, Span, Value};

/// The kind that somebody means who names what has pods.
pub(super) fn parse(word: &str) -> Option<Kind> {
    match Kind::parse(word)? {
        // Istio's Gateway selects gateways and has no pods of its own.
        Kind::Gateway | Kind::K8sGateway => Some(Kind::K8sGateway),
        Kind::CronJob => None,
        kind @ (Kind::Pod | Kind::Service) => Some(kind),
        kind => kind.is_workload().then_some(kind),
    }
}

/// For messages: `Deployment ` or, for a pod, nothing.
pub(super) fn prefix(kind: Kind) -> String {
    if kind == Kind::Pod {
        String::new()
    } else {
        format!("{} ", kind.singular())
    }
}

/// The selector of an object of this kind, as a `LabelSelector`; none for a Service without one.
pub(super) fn selector(kind: Kind, object: ObjectView<'_>) -> Option<Node> {
    let own = object.node.at(["spec", "selector"]);
    match kind {
        Kind::Pod => None,
        Kind::Service | Kind::ReplicationController => {
            let labels = own.filter(|labels| !labels.members().is_empty())?;
            Some(match_labels(labels.clone()))
        }
        Kind::K8sGateway => Some(match_labels(gateway_label(object.name()))),
        _ => own.cloned(),
    }
}

/// Whether an owner such as `kubernetes://apis/apps/v1/namespaces/shop/deployments/cart` is this
/// workload.
pub(super) fn owns(kind: Kind, owner: &str, name: &str) -> bool {
    let mut parts = owner.rsplit('/');
    parts.next() == Some(name) && parts.next().and_then(parse) == Some(kind)
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
