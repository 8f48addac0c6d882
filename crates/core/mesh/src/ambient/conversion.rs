//! What istiod makes of AuthorizationPolicies and PeerAuthentications for ztunnel, which knows
//! connections and no requests.

use meshladder_capture::Kind;
use meshladder_capture::ztunnel::policy::{
    CONVERTED, Either, L4Action, L4Clause, L4Match, L4Policy, L4Rule, L4Scope, STATIC_STRICT,
    TextMatch, parse_range,
};
use meshladder_text::tree::Node;

use crate::peer_authentication::MutualTls;
use crate::policies::{age, selector};
use crate::selector::has_labels;
use crate::views::authorization_policy::{Condition, Operation, PolicyRule, Source};
use crate::views::{AuthorizationPolicy, PeerAuthentication};
use crate::{Mesh, Object};

/// What becomes of an AuthorizationPolicy at ztunnel.
#[derive(Clone, Debug)]
pub struct PolicyConversion<'m> {
    /// What is sent; none when nothing is.
    pub policy: Option<L4Policy>,
    /// The rules that ask for what ztunnel cannot see, each with the first part that does.
    pub beyond: Vec<(PolicyRule<'m>, &'m Node)>,
}

/// What a policy that asks for more than connections comes to at ztunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degraded {
    /// An ALLOW without a rule that is left: it refuses everything.
    RefusesAll,
    /// An ALLOW that lets in less than it says.
    AllowsLess,
    /// A DENY of which nothing is left: it refuses nothing.
    RefusesNothing,
    /// A DENY that refuses more than it says.
    DeniesMore,
}

const OPERATION_L7: [&str; 6] = [
    "hosts",
    "notHosts",
    "methods",
    "notMethods",
    "paths",
    "notPaths",
];
const SOURCE_L7: [&str; 4] = [
    "remoteIpBlocks",
    "notRemoteIpBlocks",
    "requestPrincipals",
    "notRequestPrincipals",
];
const CONDITIONS_L4: [&str; 5] = [
    "source.ip",
    "source.namespace",
    "source.principal",
    "destination.ip",
    "destination.port",
];

impl PolicyConversion<'_> {
    /// What it comes to, when it asks for more than connections.
    pub fn degraded(&self) -> Option<Degraded> {
        let policy = self.policy.as_ref().filter(|_| !self.beyond.is_empty())?;
        let is_dead = |rule: &L4Rule| {
            rule.iter()
                .any(|clause| !clause.is_empty() && clause.iter().all(L4Match::is_empty))
        };
        Some(match policy.action {
            L4Action::Allow if policy.rules.is_empty() => Degraded::RefusesAll,
            L4Action::Allow => Degraded::AllowsLess,
            L4Action::Deny if policy.rules.iter().all(is_dead) => Degraded::RefusesNothing,
            L4Action::Deny => Degraded::DeniesMore,
        })
    }
}

/// Converts a policy as istiod does.
pub fn convert<'m>(policy: AuthorizationPolicy<'m>, root_namespace: &str) -> PolicyConversion<'m> {
    let mut conversion = PolicyConversion {
        policy: None,
        beyond: Vec::new(),
    };
    if has_targets(policy.object) {
        return conversion;
    }
    for rule in policy.rules() {
        if let Some(node) = beyond(rule) {
            conversion.beyond.push((rule, node));
        }
    }
    let action = match policy.action() {
        "ALLOW" => L4Action::Allow,
        "DENY" => L4Action::Deny,
        _ => return conversion,
    };
    // Without its feature ztunnel gets nothing of what is only tried out.
    if policy.is_dry_run() {
        return conversion;
    }
    let namespace = policy.namespace();
    let mut rules = Vec::new();
    for rule in policy.rules() {
        if action == L4Action::Allow && beyond(rule).is_some() {
            continue;
        }
        rules.push(clauses(rule, namespace));
    }
    conversion.policy = Some(L4Policy {
        namespace: namespace.to_owned(),
        name: policy.name().to_owned(),
        scope: if policy.object.spec_at(["selector"]).is_some() {
            L4Scope::WorkloadSelector
        } else if namespace == root_namespace {
            L4Scope::Global
        } else {
            L4Scope::Namespace
        },
        action,
        rules,
        dry_run: false,
    });
    conversion
}

/// Whether a policy is for a waypoint or a gateway, and not for ztunnel.
pub fn has_targets(policy: &Object) -> bool {
    !policy.spec_list("targetRefs").is_empty() || policy.spec_at(["targetRef"]).is_some()
}

/// The first part of a rule that only a proxy of requests can see.
pub fn beyond(rule: PolicyRule<'_>) -> Option<&Node> {
    let filled = |node: &Node| !node.items().is_empty();
    let of_operations = rule.operations().find_map(|operation| {
        let mut keys = OPERATION_L7.iter();
        keys.find_map(|key| operation.node.get(key).filter(|node| filled(node)))
    });
    let of_sources = || {
        rule.sources().find_map(|source| {
            let mut keys = SOURCE_L7.iter();
            keys.find_map(|key| source.node.get(key).filter(|node| filled(node)))
        })
    };
    let of_conditions = || {
        let mut conditions = rule.conditions();
        conditions
            .find(|condition| !CONDITIONS_L4.contains(&condition.key()))
            .map(|condition| condition.node)
    };
    of_operations.or_else(of_sources).or_else(of_conditions)
}

fn clauses(rule: PolicyRule<'_>, namespace: &str) -> L4Rule {
    let mut clauses: Vec<L4Clause> = Vec::new();
    let to: L4Clause = rule.operations().map(of_operation).collect();
    if !to.is_empty() {
        clauses.push(to);
    }
    let from: L4Clause = rule
        .sources()
        .map(|source| of_source(source, namespace))
        .collect();
    if !from.is_empty() {
        clauses.push(from);
    }
    clauses.extend(
        rule.conditions()
            .map(|condition| vec![of_condition(condition)]),
    );
    clauses
}

fn of_operation(operation: Operation<'_>) -> L4Match {
    let ports = |key: &str| {
        let values = operation.values(key);
        values.filter_map(|port| port.parse().ok()).collect()
    };
    L4Match {
        destination_ports: Either {
            any: ports("ports"),
            none: ports("notPorts"),
        },
        ..L4Match::default()
    }
}

fn of_source(source: Source<'_>, namespace: &str) -> L4Match {
    let texts = |key: &str| source.values(key).map(|leaf| TextMatch::of(leaf.value));
    let ranges = |key: &str| {
        source
            .values(key)
            .filter_map(|leaf| parse_range(leaf.value))
    };
    let accounts = |key: &str| {
        source.values(key).map(|leaf| match leaf.split_once('/') {
            Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
            None => (namespace.to_owned(), leaf.value.to_owned()),
        })
    };
    L4Match {
        namespaces: Either {
            any: texts("namespaces").collect(),
            none: texts("notNamespaces").collect(),
        },
        service_accounts: Either {
            any: accounts("serviceAccounts").collect(),
            none: accounts("notServiceAccounts").collect(),
        },
        principals: Either {
            any: texts("principals").collect(),
            none: texts("notPrincipals").collect(),
        },
        source_ips: Either {
            any: ranges("ipBlocks").collect(),
            none: ranges("notIpBlocks").collect(),
        },
        ..L4Match::default()
    }
}

/// A condition on what ztunnel cannot see is an empty match, which never holds.
fn of_condition(condition: Condition<'_>) -> L4Match {
    let texts = || Either {
        any: condition
            .values()
            .map(|leaf| TextMatch::of(leaf.value))
            .collect(),
        none: condition
            .not_values()
            .map(|leaf| TextMatch::of(leaf.value))
            .collect(),
    };
    let ranges = || Either {
        any: condition
            .values()
            .filter_map(|leaf| parse_range(leaf.value))
            .collect(),
        none: condition
            .not_values()
            .filter_map(|leaf| parse_range(leaf.value))
            .collect(),
    };
    let mut one = L4Match::default();
    match condition.key() {
        "source.ip" => one.source_ips = ranges(),
        "destination.ip" => one.destination_ips = ranges(),
        "source.namespace" => one.namespaces = texts(),
        "source.principal" => one.principals = texts(),
        "destination.port" => {
            one.destination_ports = Either {
                any: condition
                    .values()
                    .filter_map(|port| port.parse().ok())
                    .collect(),
                none: condition
                    .not_values()
                    .filter_map(|port| port.parse().ok())
                    .collect(),
            };
        }
        _ => {}
    }
    one
}

/// The modes that PeerAuthentications set for a workload, from the mesh down.
#[derive(Clone, Copy, Debug, Default)]
struct PeerLevels<'m> {
    mesh: Option<PeerAuthentication<'m>>,
    namespace: Option<PeerAuthentication<'m>>,
    workload: Option<PeerAuthentication<'m>>,
}

impl Mesh {
    /// All that istiod sends to ztunnel.
    pub fn l4_policies(&self) -> Vec<L4Policy> {
        let root = &*self.config.root_namespace;
        let mut policies: Vec<L4Policy> = AuthorizationPolicy::all(&self.objects)
            .filter_map(|policy| convert(policy, root).policy)
            .collect();
        let peers = self.objects.of_kind(Kind::PeerAuthentication);
        // "Sent as soon as any PeerAuthentication exists".
        if !peers.is_empty() {
            policies.push(static_strict(root));
        }
        for peer in peers.iter().map(PeerAuthentication::of) {
            policies.extend(self.converted(peer));
        }
        policies.sort_by_key(L4Policy::key);
        policies
    }

    /// The policies that a workload lists: those that select it, and what its PeerAuthentications
    /// come to. A name in it may be that of a policy that was never sent.
    pub fn l4_listed(&self, pod: &Object) -> Vec<String> {
        let root = &*self.config.root_namespace;
        let mut listed = Vec::new();
        for policy in AuthorizationPolicy::all(&self.objects) {
            let is_near = [pod.id.namespace.as_str(), root].contains(&policy.namespace());
            let Some(sent) = convert(policy, root).policy.filter(|_| is_near) else {
                continue;
            };
            // `selector: {}` is for nobody at ztunnel.
            let selects = selector(policy.object.spec())
                .is_some_and(|wanted| has_labels(wanted, pod.labels()));
            if sent.scope == L4Scope::WorkloadSelector && selects {
                listed.push(sent.key());
            }
        }
        let (own, is_strict) = self.peer_levels(pod).attachment();
        listed.extend(own);
        if is_strict {
            listed.push(format!("{root}/{STATIC_STRICT}"));
        }
        listed
    }

    /// The policies that ztunnel holds against connections to a pod.
    pub fn l4_policies_of(&self, pod: &Object) -> Vec<L4Policy> {
        let listed = self.l4_listed(pod);
        let mut policies = self.l4_policies();
        policies.retain(|policy| match policy.scope {
            L4Scope::Global => true,
            L4Scope::Namespace => policy.namespace == pod.id.namespace.as_str(),
            L4Scope::WorkloadSelector => listed.contains(&policy.key()),
        });
        policies
    }

    /// The PeerAuthentications of a workload: the oldest of each level. One with a selector in the
    /// root namespace counts for nobody.
    fn peer_levels(&self, pod: &Object) -> PeerLevels<'_> {
        let root = &*self.config.root_namespace;
        let mut here: Vec<&Object> = self
            .objects
            .in_namespace(Kind::PeerAuthentication, &pod.id.namespace)
            .chain(self.objects.in_namespace(Kind::PeerAuthentication, root))
            .collect();
        here.sort_by_key(|policy| age(&policy.node));
        let mut levels = PeerLevels::default();
        for policy in here {
            let view = PeerAuthentication::of(policy);
            let level = match (policy.id.namespace == root, view.selector()) {
                (true, None) => &mut levels.mesh,
                (false, None) => &mut levels.namespace,
                (false, Some(wanted)) if has_labels(wanted, pod.labels()) => &mut levels.workload,
                (_, Some(_)) => continue,
            };
            level.get_or_insert(view);
        }
        levels
    }

    /// The policy that istiod makes of a PeerAuthentication with modes of single ports, quirks
    /// included: what it does not make, no workload is protected by.
    fn converted(&self, peer: PeerAuthentication<'_>) -> Option<L4Policy> {
        let root = &*self.config.root_namespace;
        if peer.namespace() == root
            || peer.selector().is_none()
            || peer.port_modes().next().is_none()
        {
            return None;
        }
        let oldest = |namespace: &str| {
            let mut found: Vec<&Object> = self
                .objects
                .in_namespace(Kind::PeerAuthentication, namespace)
                .filter(|policy| PeerAuthentication::of(policy).selector().is_none())
                .collect();
            found.sort_by_key(|policy| age(&policy.node));
            found.first().copied().map(PeerAuthentication::of)
        };
        let (of_namespace, of_mesh) = (oldest(peer.namespace()), oldest(root));
        let is_mesh_strict = of_mesh.and_then(mode) == Some(MutualTls::Strict);
        let says_namespace = of_namespace.and_then(mode);
        let is_strict_above =
            says_namespace.map_or(is_mesh_strict, |mode| mode == MutualTls::Strict);
        let strict = ports(peer, &[MutualTls::Strict]);
        let rules = match mode(peer) {
            Some(MutualTls::Strict) => {
                let open = ports(peer, &[MutualTls::Permissive, MutualTls::Disable]);
                vec![all_but(&open)?]
            }
            // A slip of operators skips the rule under a STRICT mesh that no namespace speaks for.
            Some(MutualTls::Permissive | MutualTls::Disable) => {
                if is_mesh_strict && says_namespace.is_none() {
                    return None;
                }
                strict.iter().map(|port| only(*port)).collect()
            }
            None if is_strict_above => {
                // A namespace that says nothing of its own hides the mesh's STRICT.
                if of_namespace.is_some() && says_namespace.is_none() {
                    return None;
                }
                vec![all_but(&ports(peer, &[MutualTls::Permissive]))?]
            }
            None => strict.iter().map(|port| only(*port)).collect(),
        };
        (!rules.is_empty()).then(|| L4Policy {
            namespace: peer.namespace().to_owned(),
            name: format!("{CONVERTED}{}", peer.name()),
            scope: L4Scope::WorkloadSelector,
            action: L4Action::Deny,
            rules,
            dry_run: false,
        })
    }
}

impl PeerLevels<'_> {
    /// The converted policy that the workload lists, and whether it lists STRICT.
    fn attachment(&self) -> (Option<String>, bool) {
        let above = [self.namespace, self.mesh]
            .into_iter()
            .flatten()
            .find_map(mode);
        let own = self.workload.and_then(mode);
        let mut is_strict = own.or(above) == Some(MutualTls::Strict);
        let Some(peer) = self.workload else {
            return (None, is_strict);
        };
        let has = |modes: &[MutualTls]| !ports(peer, modes).is_empty();
        let opens = match own {
            Some(MutualTls::Strict) => has(&[MutualTls::Permissive, MutualTls::Disable]),
            // DISABLE is not looked at where the workload leaves the mode to its namespace.
            None if is_strict => has(&[MutualTls::Permissive]),
            _ => false,
        };
        let closes = !is_strict && has(&[MutualTls::Strict]);
        if opens {
            is_strict = false;
        }
        let name = format!("{}/{CONVERTED}{}", peer.namespace(), peer.name());
        ((opens || closes).then_some(name), is_strict)
    }
}

fn mode(peer: PeerAuthentication<'_>) -> Option<MutualTls> {
    MutualTls::named(peer.mode()?.value)
}

fn ports(peer: PeerAuthentication<'_>, modes: &[MutualTls]) -> Vec<u16> {
    peer.port_modes()
        .filter(|(_, mode)| MutualTls::named(mode.value).is_some_and(|mode| modes.contains(&mode)))
        .map(|(port, _)| port)
        .collect()
}

fn without_identity() -> L4Match {
    L4Match {
        principals: Either {
            any: Vec::new(),
            none: vec![TextMatch::Presence],
        },
        ..L4Match::default()
    }
}

/// Plain text to any port but these; none when there are no such ports.
fn all_but(open: &[u16]) -> Option<L4Rule> {
    if open.is_empty() {
        return None;
    }
    let mut rule = vec![vec![without_identity()]];
    for port in open {
        rule.push(vec![L4Match {
            destination_ports: Either {
                any: Vec::new(),
                none: vec![*port],
            },
            ..L4Match::default()
        }]);
    }
    Some(rule)
}

/// Plain text to this port.
fn only(port: u16) -> L4Rule {
    vec![vec![L4Match {
        destination_ports: Either {
            any: vec![port],
            none: Vec::new(),
        },
        ..without_identity()
    }]]
}

fn static_strict(root_namespace: &str) -> L4Policy {
    L4Policy {
        namespace: root_namespace.to_owned(),
        name: STATIC_STRICT.to_owned(),
        scope: L4Scope::WorkloadSelector,
        action: L4Action::Deny,
        rules: vec![vec![vec![without_identity()]]],
        dry_run: false,
    }
}

#[cfg(test)]
mod tests;
