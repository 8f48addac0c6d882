//! The ports of a rule, and the outcome that ports and peers share.

use super::rule::number;
use super::{End, Wire};
use crate::{Object, present};
use meshladder_text::tree::{Node, Value};
use meshladder_text::tri::Tri;

/// What a part of a rule says of a connection.
pub(super) struct Part<'m> {
    pub(super) holds: Tri,
    pub(super) score: u8,
    /// The field that does not fit, and why.
    pub(super) miss: Option<(&'m Node, String)>,
}

impl<'m> Part<'m> {
    pub(super) fn yes(score: u8) -> Self {
        Self {
            holds: Tri::Yes,
            score,
            miss: None,
        }
    }

    pub(super) fn no(node: &'m Node, what: String) -> Self {
        Self {
            holds: Tri::No,
            score: 0,
            miss: Some((node, what)),
        }
    }

    pub(super) fn unknown(fact: String) -> Self {
        Self {
            holds: Tri::unknown(fact),
            score: 0,
            miss: None,
        }
    }

    /// Either is enough; if neither holds, the one that came nearer speaks.
    pub(super) fn or(self, other: Self) -> Self {
        let holds = Tri::any([self.holds, other.holds]);
        let (score, miss) = if other.score > self.score {
            (other.score, other.miss)
        } else {
            (self.score, self.miss)
        };
        let miss = miss.filter(|_| holds == Tri::No);
        Self { holds, score, miss }
    }
}

const NAMED_PORT: u8 = 3;
const ANY_PORT: u8 = 2;

/// "If this field is empty or missing, this rule matches all ports (traffic not restricted by
/// port)."
pub(super) fn ports<'m>(rule: &'m Node, wire: Wire<'m, '_>) -> Part<'m> {
    let Some(list) = rule.get("ports").filter(|list| !list.items().is_empty()) else {
        return Part::yes(ANY_PORT);
    };
    let holds = Tri::any(list.items().iter().map(|port| fits(port, wire)));
    let said: Vec<_> = list.items().iter().map(words).collect();
    let what = || {
        format!(
            "{} {} is not among {}",
            wire.protocol,
            wire.port,
            said.join(", ")
        )
    };
    match holds {
        Tri::Yes => Part::yes(NAMED_PORT),
        Tri::No => Part::no(list, what()),
        Tri::Unknown(_) => Part {
            holds,
            score: 0,
            miss: None,
        },
    }
}

fn protocol(port: &Node) -> &str {
    // "If not specified, this field defaults to TCP."
    present(port, "protocol")
        .and_then(Node::str)
        .unwrap_or("TCP")
}

fn fits(entry: &Node, wire: Wire<'_, '_>) -> Tri {
    if protocol(entry) != wire.protocol {
        return Tri::No;
    }
    // "If this field is not provided, this matches all port names and numbers."
    let Some(port) = present(entry, "port") else {
        return Tri::Yes;
    };
    if let Some(name) = port.str() {
        return match wire.to {
            End::Pod(pod) => (container_port(pod, name, wire.protocol) == Some(wire.port)).into(),
            End::Address(_) => Tri::No,
            End::Unknown(what) => Tri::unknown(format!("the port {name} of {what}")),
        };
    }
    let Some(first) = number(port) else {
        return Tri::No;
    };
    let last = entry.get("endPort").and_then(number).unwrap_or(first);
    (first..=last).contains(&wire.port).into()
}

/// `UDP 53`, `TCP 8000-8080`, `TCP http`
fn words(entry: &Node) -> String {
    let text = |key| match present(entry, key).map(|node| &node.value) {
        Some(Value::Number(text) | Value::String(text)) => Some(text),
        _ => None,
    };
    match (text("port"), text("endPort")) {
        (None, _) => format!("any {}", protocol(entry)),
        (Some(port), None) => format!("{} {port}", protocol(entry)),
        (Some(port), Some(end)) => format!("{} {port}-{end}", protocol(entry)),
    }
}

/// The number of a pod's port of that name.
pub(super) fn container_port(pod: &Object, name: &str, wanted: &str) -> Option<u16> {
    let lists = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|key| pod.spec_list(key));
    let mut ports = lists.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    let port = ports.find(|port| port.str_at("name") == Some(name) && protocol(port) == wanted)?;
    number(port.get("containerPort")?)
}
