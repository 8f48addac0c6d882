//! Which servers a DestinationRule is for, and what they take.

use std::collections::BTreeMap;

use crate::rules::Facts;
use crate::rules::peer_modes::PeerModes;
use crate::rules::workloads::{self, Selectors};
use meshladder_capture::Kind;
use meshladder_mesh::host::{covers, specificity};
use meshladder_mesh::peer_authentication::{MutualTls, PeerMode};
use meshladder_mesh::policies::selector;
use meshladder_mesh::services::{number, ports};
use meshladder_mesh::views::PodTemplate;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

/// Which servers a rule is for.
#[derive(Clone, Copy)]
pub(in crate::rules) enum Reach<'m> {
    /// All Services of the mesh.
    Mesh,
    /// All Services of a namespace.
    Namespace(&'m str),
    /// One Service.
    Service(&'m Object),
    /// Hosts outside the mesh, or wildcards that are neither.
    Other,
}

/// A server that takes something else than what a rule has clients send.
pub(in crate::rules) struct Clash<'m> {
    pub(in crate::rules) rule: &'m Object,
    /// What clients send.
    pub(in crate::rules) sends: &'m Node,
    /// What says what the server takes, and the part of it.
    pub(in crate::rules) policy: &'m Object,
    pub(in crate::rules) takes: &'m Node,
    /// Whether the rule is for one Service.
    pub(in crate::rules) is_narrow: bool,
}

/// `trafficPolicy.tls.mode`
pub(in crate::rules) fn tls_mode(rule: &Object) -> Option<&Node> {
    rule.spec_at(["trafficPolicy", "tls", "mode"])
}

/// Which servers a rule is for.
pub(in crate::rules) fn reach<'m>(facts: &Facts<'m>, rule: &'m Object) -> Reach<'m> {
    let host = host_of(rule);
    let domain = &facts.mesh.domain;
    if host.starts_with('*') && covers(host, &format!("*.svc.{}", domain.name())) {
        return Reach::Mesh;
    }
    let namespace = host
        .strip_prefix("*.")
        .and_then(|rest| domain.without(rest));
    if let Some(namespace) = namespace.filter(|namespace| !namespace.contains('.')) {
        return Reach::Namespace(namespace);
    }
    facts
        .mesh
        .service_of_host(&domain.fqdn(host, &rule.id.namespace))
        .map_or(Reach::Other, Reach::Service)
}

/// The rules that have clients send one of these, where the server accepts this alone.
pub(in crate::rules) fn clashes<'m>(
    facts: &Facts<'m>,
    sent: &[&str],
    accepted: MutualTls,
) -> Vec<Clash<'m>> {
    let policies = facts.mesh.objects.of_kind(Kind::PeerAuthentication);
    if policies.is_empty() {
        return Vec::new();
    }
    let sends = |rule: &'m Object| {
        tls_mode(rule).filter(|mode| mode.str().is_some_and(|mode| sent.contains(&mode)))
    };
    let rules = facts
        .mesh
        .objects
        .of_kind(Kind::DestinationRule)
        .iter()
        .filter_map(|rule| Some((rule, sends(rule)?)));
    let servers = Servers::of(facts, rules.clone().map(|(rule, _)| rule));
    let mut found = Vec::new();
    for (rule, sends) in rules {
        let reach = reach(facts, rule);
        let mut modes = servers
            .accept(rule, reach)
            .into_iter()
            .filter(|peer| peer.mode == accepted);
        let is_narrow = matches!(reach, Reach::Service(_));
        let clash = modes.find_map(|peer| peer.by);
        found.extend(clash.map(|(policy, takes)| Clash {
            rule,
            sends,
            policy,
            takes,
            is_narrow,
        }));
    }
    found.extend(policies.iter().filter_map(|policy| {
        let (rule, takes) = servers.overridden(policy)?;
        let is_accepted = servers.accepted.by_default(&policy.id.namespace).mode == accepted;
        Some(Clash {
            rule,
            sends: sends(rule)?,
            policy,
            takes,
            is_narrow: false,
        })
        .filter(|_| is_accepted)
    }));
    found
}

/// What stands behind Services.
struct Servers<'f, 'm> {
    facts: &'f Facts<'m>,
    accepted: PeerModes<'m>,
    /// A workload in the mesh, by the Service that selects it.
    behind: BTreeMap<&'m ObjectRef, PodTemplate<'m>>,
}

impl<'f, 'm> Servers<'f, 'm> {
    /// Those that these rules are for.
    fn of(facts: &'f Facts<'m>, rules: impl Iterator<Item = &'m Object>) -> Self {
        let services = rules.filter_map(|rule| match reach(facts, rule) {
            Reach::Service(service) => Some(service),
            _ => None,
        });
        let selectors = Selectors::by(services, |service| service.spec_at(["selector"]));
        let mut chosen = BTreeMap::new();
        for template in workloads::templates(facts.mesh) {
            let services = selectors.selecting(template.namespace(), template.labels());
            if !services.is_empty() && template.is_in_mesh(facts.mesh) {
                chosen.extend(services.into_iter().map(|(number, _)| (number, template)));
            }
        }
        let of_service = |(number, template)| {
            selectors
                .numbered(number)
                .iter()
                .map(move |service| (&service.id, template))
        };
        let behind = chosen.into_iter().flat_map(of_service).collect();
        Self {
            facts,
            accepted: PeerModes::of(facts),
            behind,
        }
    }

    /// What the servers of a rule accept.
    fn accept(&self, rule: &Object, reach: Reach<'m>) -> Vec<PeerMode<'m>> {
        let objects = &self.facts.mesh.objects;
        match reach {
            Reach::Mesh if self.is_used(rule, objects.of_kind(Kind::Service).iter()) => {
                vec![
                    self.accepted
                        .by_default(&self.facts.mesh.config.root_namespace),
                ]
            }
            Reach::Namespace(namespace) if self.is_used_in(rule, namespace) => {
                vec![self.accepted.by_default(namespace)]
            }
            Reach::Service(service) => self.behind(rule, service),
            Reach::Mesh | Reach::Namespace(_) | Reach::Other => Vec::new(),
        }
    }

    /// For a namespace's policy, the rule for the whole mesh that its clients fall under.
    fn overridden(&self, policy: &'m Object) -> Option<(&'m Object, &'m Node)> {
        let namespace = policy.id.namespace.as_str();
        if namespace == &*self.facts.mesh.config.root_namespace || selector(policy.spec()).is_some()
        {
            return None;
        }
        let rule = self.narrowest(&self.facts.mesh.domain.service("*", namespace))?;
        let is_wide =
            matches!(reach(self.facts, rule), Reach::Mesh) && self.is_used_in(rule, namespace);
        is_wide.then_some((rule, policy.spec_at(["mtls", "mode"])?))
    }

    /// Whether a Service of a namespace, with pods in the mesh, has no narrower rule.
    fn is_used_in(&self, rule: &Object, namespace: &str) -> bool {
        let services = self
            .facts
            .mesh
            .objects
            .in_namespace(Kind::Service, namespace);
        self.accepted.has_mesh(namespace) && self.is_used(rule, services)
    }

    fn is_used(&self, rule: &Object, services: impl Iterator<Item = &'m Object>) -> bool {
        let mut services = services.filter(|service| !service.is_assumed()).peekable();
        let host = |service: &Object| {
            self.facts
                .mesh
                .domain
                .service(&service.id.name, &service.id.namespace)
        };
        // Clients of other namespaces may fall under a rule of their own for the same host.
        let is_same = |used: &Object| host_of(used) == host_of(rule);
        let falls_under = |service: &Object| self.narrowest(&host(service)).is_some_and(is_same);
        services.peek().is_none() || services.any(falls_under)
    }

    /// The rule with the narrowest host that covers this one.
    fn narrowest(&self, host: &str) -> Option<&'m Object> {
        self.facts
            .mesh
            .destination_rules_of(host)
            .into_iter()
            .min_by_key(|rule| specificity(host_of(rule)))
    }

    /// What the workload behind a Service accepts, on the ports for which the rule says nothing of
    /// their own.
    fn behind(&self, rule: &Object, service: &'m Object) -> Vec<PeerMode<'m>> {
        let Some(template) = self.behind.get(&service.id) else {
            return Vec::new();
        };
        let own = rule
            .spec_at(["trafficPolicy", "portLevelSettings"])
            .map_or(&[][..], Node::items);
        let has_own = |port: u16| {
            own.iter()
                .any(|own| own.at(["port", "number"]).and_then(number) == Some(port))
        };
        let numbers = ports(service).filter(|port| !has_own(port.number));
        let targets = numbers.map(|port| {
            port.target_port
                .map_or(Some(port.number), number)
                .unwrap_or_default()
        });
        targets
            .map(|port| {
                self.accepted
                    .by(template.namespace(), template.labels(), port)
            })
            .collect()
    }
}

fn host_of(rule: &Object) -> &str {
    rule.spec_at(["host"])
        .and_then(Node::str)
        .unwrap_or_default()
}
