//! Pods.

use std::cmp::Reverse;

use super::object::ObjectView;
use meshladder_capture::Kind;
use meshladder_text::tree::{Node, Value};

/// See [`Pod::preference`].
pub type Preference = (bool, u8, bool, String, Reverse<u64>, String);

/// A pod, as a view over its object.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a>(pub ObjectView<'a>);

impl<'a> Pod<'a> {
    /// The object as a pod, if it is one.
    pub fn of(object: ObjectView<'a>) -> Option<Self> {
        object.is(Kind::Pod).then_some(Self(object))
    }

    fn at<const N: usize>(self, path: [&str; N]) -> Option<&'a Node> {
        self.0.node.at(path)
    }

    /// `metadata.labels`
    pub fn labels(self) -> Option<&'a Node> {
        self.at(["metadata", "labels"])
    }

    /// `Running`, `Pending`, …
    pub fn phase(self) -> &'a str {
        self.at(["status", "phase"])
            .and_then(Node::str)
            .unwrap_or_default()
    }

    /// Whether a proxy runs in it: as a container, or as an init container, which a native sidecar
    /// is.
    pub fn has_proxy(self) -> bool {
        let named = |list: &str| {
            let containers = self.at(["spec", list]).map_or(&[][..], Node::items);
            containers
                .iter()
                .any(|c| c.str_at("name") == Some("istio-proxy"))
        };
        named("containers") || named("initContainers")
    }

    /// How good a choice the pod is for a question about its workload; the smallest is the best.
    /// The order is that of `kubectl logs deploy/x`: scheduled, running, ready, ready for longest,
    /// restarted most, oldest.
    pub fn preference(self) -> Preference {
        let scheduled = self
            .at(["spec", "nodeName"])
            .and_then(Node::str)
            .is_some_and(|n| !n.is_empty());
        let phase = match self.phase() {
            "Running" => 0,
            "Pending" => 2,
            _ => 1,
        };
        let ready = self
            .condition("Ready")
            .filter(|c| c.str_at("status") == Some("True"));
        let since = ready
            .and_then(|c| c.str_at("lastTransitionTime"))
            .unwrap_or_default();
        let created = self
            .at(["metadata", "creationTimestamp"])
            .and_then(Node::str)
            .unwrap_or_default();
        (
            !scheduled,
            phase,
            ready.is_none(),
            since.to_owned(),
            Reverse(self.restarts()),
            created.to_owned(),
        )
    }

    fn condition(self, kind: &str) -> Option<&'a Node> {
        self.at(["status", "conditions"])?
            .items()
            .iter()
            .find(|c| c.str_at("type") == Some(kind))
    }

    fn restarts(self) -> u64 {
        let statuses = self
            .at(["status", "containerStatuses"])
            .map_or(&[][..], Node::items);
        let count = |status: &Node| match &status.get("restartCount")?.value {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        };
        statuses.iter().filter_map(count).max().unwrap_or(0)
    }
}
