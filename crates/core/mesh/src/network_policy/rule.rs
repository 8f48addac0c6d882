//! One rule of a NetworkPolicy against one connection.

use std::net::IpAddr;

use super::port::{self, Part};
use super::{Direction, End, NearMiss, Wire, on_host_network};
use crate::namespaces::NamespaceMatch;
use crate::selector;
use crate::{Mesh, Object, ips, present};
use meshladder_text::cidr::Cidr;
use meshladder_text::tree::{Node, Value};
use meshladder_text::tri::Tri;

/// What a rule says of a connection.
pub(super) struct Verdict<'m> {
    pub(super) policy: &'m Object,
    pub(super) rule: &'m Node,
    /// Whether it allows it.
    pub(super) holds: Tri,
    /// How near it came.
    pub(super) score: u8,
    miss: Option<(&'m Node, String)>,
}

impl<'m> Verdict<'m> {
    pub(super) fn near_miss(&self) -> Option<NearMiss<'m>> {
        let (field, what) = self.miss.clone()?;
        Some(NearMiss {
            policy: self.policy,
            rule: self.rule,
            field,
            what,
        })
    }
}

/// A peer that was named counts for more than the lack of a restriction.
const NAMED_PEER: u8 = 4;
const ANY_PEER: u8 = 1;
const RIGHT_NAMESPACE: u8 = 1;

impl Mesh {
    pub(super) fn rule<'m>(
        &'m self,
        policy: &'m Object,
        rule: &'m Node,
        direction: Direction,
        wire: Wire<'m, '_>,
    ) -> Verdict<'m> {
        let peers = self.peers(policy, rule, direction, wire);
        let ports = port::ports(rule, wire);
        Verdict {
            policy,
            rule,
            score: peers.score + ports.score,
            miss: peers.miss.or(ports.miss),
            holds: Tri::all([peers.holds, ports.holds]),
        }
    }

    /// "If this field is empty or missing, this rule matches all sources [destinations]."
    fn peers<'m>(
        &'m self,
        policy: &'m Object,
        rule: &'m Node,
        direction: Direction,
        wire: Wire<'m, '_>,
    ) -> Part<'m> {
        let other = match direction {
            Direction::Egress => wire.to,
            Direction::Ingress => wire.from,
        };
        let peers = rule.get(direction.peers()).map_or(&[][..], Node::items);
        let parts = peers.iter().map(|peer| self.peer(policy, peer, other));
        parts.reduce(Part::or).unwrap_or(Part {
            holds: Tri::Yes,
            score: ANY_PEER,
            miss: None,
        })
    }

    fn peer<'m>(&'m self, policy: &Object, peer: &'m Node, other: End<'m>) -> Part<'m> {
        if let Some(block) = present(peer, "ipBlock") {
            return ip_block(block, other);
        }
        match other {
            End::Pod(pod) => self.selected(policy, peer, pod),
            End::Address(address) if self.pods.is_empty() => {
                Part::unknown(format!("which pod has the address {address}"))
            }
            End::Address(address) => Part::no(peer, format!("{address} is the address of no pod")),
            End::Unknown(what) => Part::unknown(format!("the labels of {what}")),
        }
    }

    /// `podSelector` alone means pods of the policy's own namespace; with a `namespaceSelector`,
    /// pods of those.
    fn selected<'m>(&'m self, policy: &Object, peer: &'m Node, pod: &'m Object) -> Part<'m> {
        let namespace = self.in_namespaces(policy, peer, pod);
        if namespace.holds == Tri::No {
            return namespace;
        }
        if let Some(selector) = present(peer, "podSelector")
            && let Some(unmet) = selector::unmet(selector, pod.labels())
        {
            return Part {
                score: RIGHT_NAMESPACE,
                ..Part::no(unmet.node, format!("{} {unmet}", pod.id))
            };
        }
        if namespace.holds == Tri::Yes && on_host_network(pod) {
            // "The network plugin cannot distinguish hostNetwork pod traffic from all other
            // traffic, so it ignores such pods when matching podSelector and namespaceSelector" is
            // only the most common behaviour.
            return Part::unknown(format!(
                "whether the network plugin knows {} by its labels",
                pod.id
            ));
        }
        namespace
    }

    fn in_namespaces<'m>(&'m self, policy: &Object, peer: &'m Node, pod: &'m Object) -> Part<'m> {
        let name = &pod.id.namespace;
        let yes = Part {
            holds: Tri::Yes,
            score: NAMED_PEER,
            miss: None,
        };
        let Some(selector) = present(peer, "namespaceSelector") else {
            let here = &policy.id.namespace;
            let is_here = name == here && present(peer, "podSelector").is_some();
            let what = || {
                format!(
                    "{} is in namespace {name}, and the peer means pods of {here} only",
                    pod.id
                )
            };
            return if is_here { yes } else { Part::no(peer, what()) };
        };
        match self.selects_namespace(selector, name) {
            NamespaceMatch::Yes => yes,
            NamespaceMatch::No(unmet) => Part::no(unmet.node, format!("namespace {name} {unmet}")),
            NamespaceMatch::NotByName(node) => Part::no(node, format!("the namespace is {name}")),
            NamespaceMatch::Unknown => Part::unknown(format!("the labels of namespace {name}")),
        }
    }
}

/// "Except is a slice of CIDRs that should not be included within an IPBlock."
fn ip_block<'m>(block: &'m Node, other: End<'m>) -> Part<'m> {
    let text = block.str_at("cidr").unwrap_or_default();
    let Some(range) = cidr(text) else {
        return Part::no(block, format!("{text} is no range of addresses"));
    };
    let except = block.get("except").map_or(&[][..], Node::items);
    let excepted = |address: IpAddr| {
        except
            .iter()
            .find(|e| e.str().and_then(cidr).is_some_and(|e| e.contains(address)))
    };
    let addresses = match other {
        End::Pod(pod) => ips(&pod.node),
        End::Address(address) => vec![address],
        End::Unknown(_) if range.length() == 0 && except.is_empty() => {
            return Part::yes(NAMED_PEER);
        }
        End::Unknown(what) => return Part::unknown(format!("the address of {what}")),
    };
    if addresses
        .iter()
        .any(|&address| range.contains(address) && excepted(address).is_none())
    {
        return Part::yes(NAMED_PEER);
    }
    match (addresses.first(), other) {
        (None, End::Pod(pod)) => Part::unknown(format!("the address of {}", pod.id)),
        (None, _) => Part::unknown("the address".to_owned()),
        (Some(&address), _) => match excepted(address).filter(|_| range.contains(address)) {
            Some(e) => Part {
                score: RIGHT_NAMESPACE,
                ..Part::no(
                    e,
                    format!(
                        "{address} is in the exception {}",
                        e.str().unwrap_or_default()
                    ),
                )
            },
            None => Part::no(
                block.get("cidr").unwrap_or(block),
                format!("{address} is not in {text}"),
            ),
        },
    }
}

fn cidr(text: &str) -> Option<Cidr> {
    let (address, length) = text.split_once('/')?;
    Some(Cidr::new(address.parse().ok()?, length.parse().ok()?))
}

/// A number of 16 bits.
pub(super) fn number(node: &Node) -> Option<u16> {
    if let Value::Number(text) = &node.value {
        text.parse().ok()
    } else {
        None
    }
}
