//! Which servers a DestinationRule is for, and what they take.

use crate::doc::tree::Node;
use crate::mesh::Stored;
use crate::mesh::host::{SERVICE_DOMAIN, fqdn, specificity};
use crate::mesh::injection::Template;
use crate::mesh::peer_authentication::{MutualTls, PeerMode};
use crate::mesh::policies::{Workload, selector};
use crate::mesh::services::{number, ports};
use crate::model::selector::has_labels;
use crate::rules::{Facts, workloads};

/// Which servers a rule is for.
#[derive(Clone, Copy)]
pub(super) enum Reach<'m> {
    /// All Services of the mesh.
    Mesh,
    /// All Services of a namespace.
    Namespace(&'m str),
    /// One Service.
    Service(&'m Stored),
    /// Hosts outside the mesh, or wildcards that are neither.
    Other,
}

/// A server that takes something else than what a rule has clients send.
pub(super) struct Clash<'m> {
    pub(super) rule: &'m Stored,
    /// What clients send.
    pub(super) sends: &'m Node,
    /// What says what the server takes, and the part of it.
    pub(super) policy: &'m Stored,
    pub(super) takes: &'m Node,
    /// Whether the rule is for one Service.
    pub(super) is_narrow: bool,
}

/// `trafficPolicy.tls.mode`
pub(super) fn tls_mode(rule: &Stored) -> Option<&Node> {
    rule.spec_at(["trafficPolicy", "tls", "mode"])
}

/// Which servers a rule is for.
pub(super) fn reach<'m>(facts: &Facts<'m>, rule: &'m Stored) -> Reach<'m> {
    let host = rule.spec_at(["host"]).and_then(Node::str).unwrap_or_default();
    if ["*", "*.local", "*.cluster.local", "*.svc.cluster.local"].contains(&host) {
        return Reach::Mesh;
    }
    let namespace = host.strip_prefix("*.").and_then(|rest| rest.strip_suffix(SERVICE_DOMAIN));
    if let Some(namespace) = namespace.filter(|namespace| !namespace.contains('.')) {
        return Reach::Namespace(namespace);
    }
    facts.mesh.service_of_host(&fqdn(host, &rule.id.namespace)).map_or(Reach::Other, Reach::Service)
}

/// The rules that have clients send one of these, where the server takes this.
pub(super) fn clashes<'m>(facts: &Facts<'m>, sent: &[&str], accepted: MutualTls) -> Vec<Clash<'m>> {
    if facts.mesh.objects.of_kind("PeerAuthentication").is_empty() {
        return Vec::new();
    }
    let sends = |rule: &'m Stored| tls_mode(rule).filter(|mode| mode.str().is_some_and(|mode| sent.contains(&mode)));
    let mut found = Vec::new();
    for (rule, sends) in facts.mesh.objects.of_kind("DestinationRule").iter().filter_map(|r| Some((r, sends(r)?))) {
        let reach = reach(facts, rule);
        let peers = match reach {
            Reach::Mesh if is_used(facts, rule, facts.mesh.objects.of_kind("Service").iter()) => {
                vec![namespace_takes(facts, &facts.mesh.config.root_namespace)]
            }
            Reach::Namespace(namespace) if is_used_in(facts, rule, namespace) => {
                vec![namespace_takes(facts, namespace)]
            }
            Reach::Service(service) => service_takes(facts, rule, service),
            Reach::Mesh | Reach::Namespace(_) | Reach::Other => Vec::new(),
        };
        let clash = peers.into_iter().filter(|peer| peer.mode == accepted).find_map(|peer| peer.by);
        let is_narrow = matches!(reach, Reach::Service(_));
        found.extend(clash.map(|(policy, takes)| Clash { rule, sends, policy, takes, is_narrow }));
    }
    found.extend(facts.mesh.objects.of_kind("PeerAuthentication").iter().filter_map(|policy| {
        let (rule, takes) = overridden(facts, policy)?;
        let is_taken = facts.mesh.mutual_tls(&whole(&policy.id.namespace), 0).mode == accepted;
        Some(Clash { rule, sends: sends(rule)?, policy, takes, is_narrow: false }).filter(|_| is_taken)
    }));
    found
}

/// For a namespace's policy, the rule for the whole mesh that its clients fall under.
fn overridden<'m>(facts: &Facts<'m>, policy: &'m Stored) -> Option<(&'m Stored, &'m Node)> {
    let namespace = policy.id.namespace.as_str();
    if namespace == &*facts.mesh.config.root_namespace || selector(policy.spec()).is_some() {
        return None;
    }
    let rule = narrowest(facts, &format!("*.{namespace}{SERVICE_DOMAIN}"))?;
    let is_wide = matches!(reach(facts, rule), Reach::Mesh) && is_used_in(facts, rule, namespace);
    is_wide.then_some((rule, policy.spec_at(["mtls", "mode"])?))
}

/// Whether a Service of a namespace, with pods in the mesh, has no narrower rule.
fn is_used_in(facts: &Facts<'_>, rule: &Stored, namespace: &str) -> bool {
    workloads::has_mesh(facts, namespace) && is_used(facts, rule, facts.mesh.objects.in_namespace("Service", namespace))
}

fn is_used<'m>(facts: &Facts<'m>, rule: &Stored, services: impl Iterator<Item = &'m Stored>) -> bool {
    let mut services = services.filter(|service| !service.is_assumed()).peekable();
    let host = |service: &Stored| format!("{}.{}{SERVICE_DOMAIN}", service.id.name, service.id.namespace);
    // Clients of other namespaces may fall under a rule of their own for the same host.
    let is_same =
        |used: &Stored| used.spec_at(["host"]).and_then(Node::str) == rule.spec_at(["host"]).and_then(Node::str);
    let falls_under = |service: &Stored| narrowest(facts, &host(service)).is_some_and(is_same);
    services.peek().is_none() || services.any(falls_under)
}

/// The rule with the narrowest host that covers this one.
fn narrowest<'m>(facts: &Facts<'m>, host: &str) -> Option<&'m Stored> {
    let width = |rule: &&Stored| specificity(rule.spec_at(["host"]).and_then(Node::str).unwrap_or_default());
    facts.mesh.destination_rules_of(host).into_iter().min_by_key(width)
}

fn whole(namespace: &str) -> Workload<'_> {
    Workload { namespace, labels: None, service: None }
}

fn namespace_takes<'m>(facts: &Facts<'m>, namespace: &str) -> PeerMode<'m> {
    facts.mesh.mutual_tls(&whole(namespace), 0)
}

/// What the workloads behind a Service take, on the ports for which the rule says nothing of their own.
fn service_takes<'m>(facts: &Facts<'m>, rule: &Stored, service: &'m Stored) -> Vec<PeerMode<'m>> {
    let Some(labels) = service.spec_at(["selector"]).filter(|labels| !labels.members().is_empty()) else {
        return Vec::new();
    };
    let own = rule.spec_at(["trafficPolicy", "portLevelSettings"]).map_or(&[][..], Node::items);
    let has_own = |port: u16| own.iter().any(|own| own.at(["port", "number"]).and_then(number) == Some(port));
    let is_behind =
        |template: &Template<'_>| has_labels(labels, template.labels()) && workloads::is_in_mesh(facts.mesh, *template);
    let Some(template) = workloads::templates(facts.mesh, &service.id.namespace).find(is_behind) else {
        return Vec::new();
    };
    let numbers = ports(service).filter(|port| !has_own(port.number));
    let targets = numbers.map(|port| port.target_port.map_or(Some(port.number), number).unwrap_or_default());
    targets.map(|port| facts.mesh.mutual_tls(&workloads::of_template(template), port)).collect()
}
