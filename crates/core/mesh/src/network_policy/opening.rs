//! The least a policy has to allow more for one connection to pass.

use super::{Direction, End, Wire, on_host_network};
use crate::{Object, ips, namespaces};
use meshladder_text::tree::{Member, Node, Span, Value};

/// A rule to add to a policy. One policy is enough: policies are additive.
#[derive(Clone, Debug)]
pub struct Opening<'m> {
    /// The policy to add it to.
    pub policy: &'m Object,
    /// Under which field of `spec`.
    pub direction: Direction,
    /// The rule.
    pub rule: Node,
    /// The whole as a JSON merge patch. Such a patch replaces lists, so the rules that are there
    /// stand in it too.
    pub merge: Node,
}

pub(super) fn of<'m>(policy: &'m Object, direction: Direction, wire: Wire<'_, '_>) -> Opening<'m> {
    let other = match direction {
        Direction::Egress => wire.to,
        Direction::Ingress => wire.from,
    };
    let port = object([
        ("port", number(wire.port)),
        ("protocol", text(wire.protocol)),
    ]);
    let ports = ("ports", list(vec![port]));
    let rule = match peer(policy, other) {
        Some(peer) => object([(direction.peers(), list(vec![peer])), ports]),
        None => object([ports]),
    };
    let rules = policy
        .spec_list(direction.field())
        .iter()
        .cloned()
        .chain([rule.clone()])
        .collect();
    let merge = object([("spec", object([(direction.field(), list(rules))]))]);
    Opening {
        policy,
        direction,
        rule,
        merge,
    }
}

fn peer(policy: &Object, other: End<'_>) -> Option<Node> {
    let address = match other {
        End::Pod(pod) if !on_host_network(pod) => return Some(pod_peer(policy, pod)),
        End::Pod(pod) => *ips(&pod.node).first()?,
        End::Address(address) => address,
        End::Unknown(_) => return None,
    };
    let length = if address.is_ipv4() { 32 } else { 128 };
    Some(object([(
        "ipBlock",
        object([("cidr", text(&format!("{address}/{length}")))]),
    )]))
}

fn pod_peer(policy: &Object, pod: &Object) -> Node {
    let namespace = &pod.id.namespace;
    let of_namespace = object([("matchLabels", object([(namespaces::NAME, text(namespace))]))]);
    let pods = match lasting_labels(pod) {
        labels if labels.is_empty() => object([]),
        labels => object([("matchLabels", node(Value::Object(labels.into())))]),
    };
    if *namespace == policy.id.namespace {
        object([("podSelector", pods)])
    } else {
        object([("namespaceSelector", of_namespace), ("podSelector", pods)])
    }
}

/// The label that names the workload, else all that its next pod will have too.
fn lasting_labels(pod: &Object) -> Vec<Member> {
    const NAMES: [&str; 3] = ["app", "app.kubernetes.io/name", "k8s-app"];
    const OF_ONE_POD: [&str; 4] = [
        "pod-template-hash",
        "controller-revision-hash",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
    ];
    let labels = pod.labels().map_or(&[][..], Node::members);
    let name = NAMES
        .iter()
        .find_map(|name| labels.iter().find(|label| &*label.key == *name));
    match name {
        Some(name) => vec![name.clone()],
        None => labels
            .iter()
            .filter(|label| !OF_ONE_POD.contains(&&*label.key))
            .cloned()
            .collect(),
    }
}

fn node(value: Value) -> Node {
    Node {
        value,
        span: Span::default(),
    }
}

fn text(text: &str) -> Node {
    node(Value::String(text.into()))
}

fn number(number: u16) -> Node {
    node(Value::Number(number.to_string().into()))
}

fn list(items: Vec<Node>) -> Node {
    node(Value::Array(items.into()))
}

fn object<const N: usize>(members: [(&str, Node); N]) -> Node {
    let members = members.map(|(key, value)| Member {
        key: key.into(),
        key_span: Span::default(),
        value,
    });
    node(Value::Object(members.into()))
}
