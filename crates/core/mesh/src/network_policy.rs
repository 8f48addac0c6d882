//! Kubernetes' NetworkPolicy: whether a connection may pass, which policies stop it, and the rule
//! that would open it.
//!
//! This is what the API promises for the policies that are here: whether they are all there are is
//! a matter of coverage, and whether the cluster's network plugin enforces them, no object tells.

use std::net::IpAddr;

use super::{Mesh, Object, ServiceFacts, present};
use crate::selector;
use meshladder_capture::Kind;
use meshladder_text::tree::{Node, Value};
use meshladder_text::tri::Tri;

mod opening;
mod port;
mod reach;
mod rule;

pub use opening::Opening;
pub use reach::{Reach, WEBHOOK, XDS, XDS_PLAINTEXT};
use rule::Verdict;

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub enum End<'m> {
    /// A pod.
    Pod(&'m Object),
    /// An address; if it is a pod's or a Service's, that is what counts.
    Address(IpAddr),
    /// Something of which neither labels nor address are known, in words: `the API server`.
    Unknown(&'m str),
}

/// Which way policies are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// At the client, out of its pod.
    Egress,
    /// At the server, into its pod.
    Ingress,
}

/// Whether a connection may pass.
#[derive(Clone, Debug)]
pub enum Passage<'m> {
    /// It may: by these rules, one an isolated end, or, when there are none, because no policy
    /// selects either end.
    Allowed(Vec<PolicyPart<'m>>),
    /// It may not. Each end that refuses, the client's first: all of them have to be opened.
    Blocked(Vec<ClosedEnd<'m>>),
    /// It cannot be told without this fact, which these rules ask for.
    Unknown(String, Vec<PolicyPart<'m>>),
}

/// A part of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyPart<'m> {
    /// The policy.
    pub policy: &'m Object,
    /// The part; [`Object::pointer_of`] tells its place.
    pub node: &'m Node,
}

/// An end that refuses.
#[derive(Clone, Debug)]
pub struct ClosedEnd<'m> {
    /// Which end.
    pub direction: Direction,
    /// The pod at this end.
    pub pod: &'m Object,
    /// The policies that select it in this direction, each with its list of rules. None of them
    /// allows the connection.
    pub policies: Vec<PolicyPart<'m>>,
    /// The rule that came nearest to allowing it; none when no policy has a rule.
    pub nearest: Option<NearMiss<'m>>,
    /// What would open this end.
    pub opening: Opening<'m>,
}

/// A rule that nearly allows a connection.
#[derive(Clone, Debug)]
pub struct NearMiss<'m> {
    /// The policy.
    pub policy: &'m Object,
    /// The rule.
    pub rule: &'m Node,
    /// The field of it that does not fit.
    pub field: &'m Node,
    /// Why, as in `namespace istio-system has no label istio-injection=enabled`.
    pub what: String,
}

/// A connection as policies see it.
#[derive(Clone, Copy)]
struct Wire<'m, 'p> {
    from: End<'m>,
    to: End<'m>,
    port: u16,
    protocol: &'p str,
}

impl Direction {
    /// The field of a policy's spec, which is also the word for it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Egress => "egress",
            Self::Ingress => "ingress",
        }
    }

    /// The field of a rule that lists the peers.
    fn peers(self) -> &'static str {
        match self {
            Self::Egress => "to",
            Self::Ingress => "from",
        }
    }
}

impl Passage<'_> {
    /// Whether it is known to be refused.
    pub fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked(_))
    }
}

impl Mesh {
    /// Whether a connection to this port of `to` may pass: "both the egress policy on the source
    /// pod and the ingress policy on the destination pod need to allow the connection". To a
    /// Service's address it passes when it may to every pod behind it; what is asked of policies is
    /// then the pod and the target port.
    pub fn connection<'m>(
        &'m self,
        from: End<'m>,
        to: End<'m>,
        port: u16,
        protocol: &str,
    ) -> Passage<'m> {
        if let Some(service) = self.service_at(to) {
            return self.to_service(from, service, port, protocol);
        }
        self.between(from, to, port, protocol)
    }

    /// The worst that may happen: which pod a Service sends a connection to, nobody can tell.
    fn to_service<'m>(
        &'m self,
        from: End<'m>,
        service: &'m ServiceFacts,
        port: u16,
        protocol: &str,
    ) -> Passage<'m> {
        let behind = self.reach_service(from, service, port, protocol);
        let passages = behind.into_iter().map(|reach| reach.passage);
        if let Some(worst) = passages.reduce(Passage::worse) {
            worst
        } else {
            let (namespace, name) = (&service.namespace, &service.name);
            let fact = format!("the pods behind Service {namespace}/{name}");
            Passage::Unknown(fact, Vec::new())
        }
    }

    /// Like [`Self::connection`], where `to` is no Service.
    fn between<'m>(&'m self, from: End<'m>, to: End<'m>, port: u16, protocol: &str) -> Passage<'m> {
        let wire = Wire {
            from: self.settle(from),
            to: self.settle(to),
            port,
            protocol,
        };
        if is_local(wire.from, wire.to) {
            return Passage::Allowed(Vec::new());
        }
        self.gate(Direction::Egress, wire)
            .and(self.gate(Direction::Ingress, wire))
    }

    /// The policies that select a pod in a direction.
    pub fn policies_on<'m>(
        &'m self,
        pod: &Object,
        direction: Direction,
    ) -> impl Iterator<Item = &'m Object> {
        let in_namespace = self
            .objects
            .in_namespace(Kind::NetworkPolicy, &pod.id.namespace);
        in_namespace.filter(move |policy| {
            policy.group == "networking.k8s.io"
                && applies(policy, direction)
                && selects(policy, pod)
        })
    }

    fn gate<'m>(&'m self, direction: Direction, wire: Wire<'m, '_>) -> Passage<'m> {
        let subject = match direction {
            Direction::Egress => wire.from,
            Direction::Ingress => wire.to,
        };
        let End::Pod(pod) = subject else {
            return Passage::Allowed(Vec::new());
        };
        // "By default, a pod is non-isolated": without a policy everything passes.
        let policies: Vec<_> = self.policies_on(pod, direction).collect();
        if policies.is_empty() {
            return Passage::Allowed(Vec::new());
        }
        let mut verdicts = Vec::new();
        for policy in &policies {
            for rule in policy.spec_list(direction.field()) {
                verdicts.push(self.rule(policy, rule, direction, wire));
            }
        }
        decide(direction, wire, pod, &policies, &verdicts)
    }

    /// A pod's address is the pod. On the host network it is the node's, and says nothing of pods.
    fn settle<'m>(&'m self, end: End<'m>) -> End<'m> {
        let End::Address(address) = end else {
            return end;
        };
        let Some(facts) = self.pod_at(address) else {
            return end;
        };
        match self.objects.get(Kind::Pod, &facts.namespace, &facts.name) {
            Some(pod) if !on_host_network(pod) => End::Pod(pod),
            _ => end,
        }
    }
}

impl Passage<'_> {
    /// Both have to let it pass.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Blocked(mut a), Self::Blocked(b)) => {
                a.extend(b);
                Self::Blocked(a)
            }
            (Self::Allowed(mut a), Self::Allowed(b)) => {
                a.extend(b);
                Self::Allowed(a)
            }
            (a, b) => a.worse(b),
        }
    }

    fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Allowed(_) => 0,
            Self::Unknown(..) => 1,
            Self::Blocked(_) => 2,
        }
    }
}

/// "Network policies do not conflict; they are additive": one rule that allows is enough.
fn decide<'m>(
    direction: Direction,
    wire: Wire<'m, '_>,
    pod: &'m Object,
    policies: &[&'m Object],
    verdicts: &[Verdict<'m>],
) -> Passage<'m> {
    for verdict in verdicts {
        if verdict.holds == Tri::Yes {
            return Passage::Allowed(vec![part_of(verdict)]);
        }
    }
    let mut isolating = Vec::new();
    for &policy in policies {
        let node = rules_of(policy, direction);
        isolating.push(PolicyPart { policy, node });
    }
    if on_host_network(pod) {
        // "NetworkPolicy behaviour for hostNetwork pods is undefined": some plugins ignore such
        // pods.
        let fact = format!(
            "whether the network plugin applies policies to {}, which is on the host network",
            pod.id
        );
        return Passage::Unknown(fact, isolating);
    }
    if let Some(unknown) = missing_fact(verdicts) {
        return unknown;
    }
    // Of equals the first, and not the last as `max_by_key` has it.
    let best = verdicts.iter().rev().max_by_key(|verdict| verdict.score);
    let nearest = best.and_then(Verdict::near_miss);
    let to_change = match &nearest {
        Some(near) => near.policy,
        None => policies.first().expect("a policy selects the pod"),
    };
    Passage::Blocked(vec![ClosedEnd {
        direction,
        pod,
        policies: isolating,
        nearest,
        opening: opening::of(to_change, direction, wire),
    }])
}

/// Unknown for the first fact that a rule lacks, with all rules that lack one.
fn missing_fact<'m>(verdicts: &[Verdict<'m>]) -> Option<Passage<'m>> {
    let mut first = None;
    let mut rules = Vec::new();
    for verdict in verdicts {
        if let Tri::Unknown(fact) = &verdict.holds {
            first = first.or(Some(fact));
            rules.push(part_of(verdict));
        }
    }
    Some(Passage::Unknown(first?.to_string(), rules))
}

fn part_of<'m>(verdict: &Verdict<'m>) -> PolicyPart<'m> {
    PolicyPart {
        policy: verdict.policy,
        node: verdict.rule,
    }
}

/// "An empty podSelector matches all pods in this namespace."
fn selects(policy: &Object, pod: &Object) -> bool {
    match spec(policy, "podSelector") {
        Some(selector) => selector::accepts(selector, pod.labels()),
        None => true,
    }
}

/// Whether a policy has a say in this direction. "If no policyTypes are specified […] then by
/// default Ingress will always be set and Egress will be set if the NetworkPolicy has any egress
/// rules."
fn applies(policy: &Object, direction: Direction) -> bool {
    let types = policy.spec_list("policyTypes");
    if types.is_empty() {
        return match direction {
            Direction::Ingress => true,
            Direction::Egress => !policy.spec_list("egress").is_empty(),
        };
    }
    for kind in types.iter().filter_map(Node::str) {
        if kind.eq_ignore_ascii_case(direction.field()) {
            return true;
        }
    }
    false
}

/// What shows that a policy isolates its pods: its rules, else its types.
fn rules_of(policy: &Object, direction: Direction) -> &Node {
    spec(policy, direction.field())
        .or_else(|| spec(policy, "policyTypes"))
        .or_else(|| policy.spec())
        .unwrap_or(&policy.node)
}

/// "A pod cannot block access to itself", and "traffic to and from the node where a Pod is running
/// is always allowed".
fn is_local(a: End<'_>, b: End<'_>) -> bool {
    let is_same = matches!((a, b), (End::Pod(a), End::Pod(b)) if a.id == b.id);
    is_same || is_node_of(a, b) || is_node_of(b, a)
}

/// Whether one end is the node that the other, a pod, runs on. A pod on the host network has the
/// node's address.
fn is_node_of(node: End<'_>, pod: End<'_>) -> bool {
    let End::Pod(pod) = pod else { return false };
    let Some(host) = host_ip(pod) else {
        return false;
    };
    match node {
        End::Pod(other) => on_host_network(other) && host_ip(other) == Some(host),
        End::Address(address) => host.parse() == Ok(address),
        End::Unknown(_) => false,
    }
}

fn host_ip(pod: &Object) -> Option<&str> {
    pod.node.at(["status", "hostIP"])?.str()
}

fn on_host_network(pod: &Object) -> bool {
    pod.spec_at(["hostNetwork"])
        .is_some_and(|host| host.value == Value::Bool(true))
}

fn spec<'m>(policy: &'m Object, key: &str) -> Option<&'m Node> {
    present(policy.spec()?, key)
}

#[cfg(test)]
mod tests;
