//! See the page beside this file.

use std::cell::OnceCell;

use super::servers::{self, Server};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service::{self, CalledService};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::services::ports;
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0805",
    name: "client-tls-against-server",
    aka: &["KIA0207", "KIA0208", "KIA0505", "KIA0506"],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "DestinationRules and PeerAuthentications agree on mutual TLS, port by port",
    needs: Inputs::of(&[
        Kind::Service,
        Kind::Pod,
        Kind::DestinationRule,
        Kind::PeerAuthentication,
    ]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::Sidecar, Kind::ConfigMap]),
    explains: &["ML0809", "ML0817", "ML10"],
    docs: include_str!("client_tls_against_server.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    match case {
        Some(case) => of_request(facts, case, out),
        None => everywhere(facts, out),
    }
}

fn of_request(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    let has_proxy = facts
        .mesh
        .pod(&client.id.namespace, &client.id.name)
        .is_some_and(|pod| pod.has_proxy);
    if !has_proxy || case.seen.is_some_and(crate::rules::Symptom::is_success) {
        return;
    }
    let mut told = Vec::new();
    for called in called_service::services(facts, Some(case)) {
        out.examined();
        let clients = Clients {
            scope: facts.mesh.scope(client),
            pods: std::slice::from_ref(&client.id),
        };
        clash(facts, clients, &Behind::new(called), &mut told, out);
    }
}

fn everywhere(facts: &Facts<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let mut clients: std::collections::BTreeMap<&str, Vec<ObjectRef>> =
        std::collections::BTreeMap::new();
    for pod in mesh.pods.iter().filter(|pod| pod.has_proxy) {
        clients
            .entry(&pod.namespace)
            .or_default()
            .push(pod.reference());
    }
    let mut told = Vec::new();
    for called in called_service::services(facts, None) {
        for port in ports(called.service) {
            let behind = Behind::new(CalledService {
                port: Some(port.number),
                ..called.clone()
            });
            out.examined();
            for (namespace, pods) in &clients {
                clash(
                    facts,
                    Clients {
                        scope: mesh.namespace_scope(namespace),
                        pods,
                    },
                    &behind,
                    &mut told,
                    out,
                );
            }
        }
    }
    // A pod without a proxy suffers only once somebody calls it.
    for (_, _, at) in told.iter().filter(|(_, other, _)| other.is(Kind::Pod)) {
        out.findings[*at].severity(Severity::Warning);
    }
}

/// Clients that import the same.
#[derive(Clone, Copy)]
struct Clients<'a> {
    scope: Scope<'a>,
    pods: &'a [ObjectRef],
}

/// A Service's port, and who is behind it, found once somebody asks.
struct Behind<'f> {
    called: CalledService<'f>,
    pods: OnceCell<(Vec<Server<'f>>, Vec<&'f PodFacts>)>,
}

impl<'f> Behind<'f> {
    fn new(called: CalledService<'f>) -> Self {
        Self {
            called,
            pods: OnceCell::new(),
        }
    }

    /// Those with a proxy, and those without.
    fn pods(&self, facts: &Facts<'f>) -> &(Vec<Server<'f>>, Vec<&'f PodFacts>) {
        self.pods.get_or_init(|| {
            let bare = facts
                .mesh
                .pods
                .iter()
                .filter(|pod| !pod.has_proxy && is_behind(&self.called, pod))
                .collect();
            (servers::of_service(facts, &self.called), bare)
        })
    }
}

/// What a client's rule says of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    Plain,
    OwnTls,
    Mutual,
}

/// Tells once of each pair of objects that disagree; who else they hit is added.
fn clash<'f>(
    facts: &Facts<'f>,
    clients: Clients<'_>,
    behind: &Behind<'f>,
    told: &mut Vec<(ObjectRef, ObjectRef, usize)>,
    out: &mut Sink,
) {
    let called = &behind.called;
    let Some(port) = called.port else { return };
    let subset = Some(called.subset.as_str()).filter(|subset| !subset.is_empty());
    let rules = facts
        .mesh
        .destination_rule(clients.scope, &called.host(facts));
    let said = rules
        .as_ref()
        .and_then(|rules| rules.setting("tls", port, subset));
    let Some((rule, tls, sends)) = said
        .and_then(|(rule, tls)| Some((rule, tls, sends(tls)?)))
        .or_else(|| never(facts))
    else {
        return;
    };
    let (servers, bare) = behind.pods(facts);
    let wrong = servers
        .iter()
        .find(|server| refuses(server.mode.mode, sends));
    let (other, finding) = match (wrong, bare.first()) {
        (Some(server), _) => (
            against(server),
            tell(facts, rule, tls, sends, server, called),
        ),
        (None, Some(pod)) if sends == Sends::Mutual && servers.is_empty() => {
            (pod.reference(), tell_bare(facts, rule, tls, pod, called))
        }
        _ => return,
    };
    let known = told
        .iter()
        .find(|(a, b, _)| *a == rule.id && *b == other)
        .map(|(_, _, at)| *at);
    let at = known.unwrap_or_else(|| {
        let (subject, message, proof) = finding.0;
        let made = out.find(subject, message, proof);
        for evidence in finding.1 {
            made.see(evidence);
        }
        for fix in finding.2 {
            made.fix(fix);
        }
        told.push((rule.id.clone(), other, out.findings.len() - 1));
        out.findings.len() - 1
    });
    let made = &mut out.findings[at];
    made.hits(called.service.id.clone());
    for pod in clients
        .pods
        .iter()
        .chain(servers.iter().map(|server| &server.pod.id))
    {
        made.hits(pod.clone());
    }
}

/// Without automatic mutual TLS, clients that no rule tells otherwise send plain text.
fn never<'f>(facts: &Facts<'f>) -> Option<(&'f Object, &'f Node, Sends)> {
    let config = &facts.mesh.config;
    let map = config.object.as_ref().filter(|_| !config.auto_mtls)?;
    let map = facts.mesh.objects.find(map)?;
    Some((map, map.node.at(["data", "mesh"])?, Sends::Plain))
}

fn sends(tls: &Node) -> Option<Sends> {
    match tls.str_at("mode")? {
        "DISABLE" => Some(Sends::Plain),
        "SIMPLE" | "MUTUAL" => Some(Sends::OwnTls),
        "ISTIO_MUTUAL" => Some(Sends::Mutual),
        _ => None,
    }
}

/// A port that takes plain text hands TLS that is not Istio's to the application, which may well
/// want it.
fn refuses(mode: MutualTls, sends: Sends) -> bool {
    match mode {
        MutualTls::Strict => sends != Sends::Mutual,
        MutualTls::Disable => sends == Sends::Mutual,
        MutualTls::Permissive => false,
    }
}

fn against(server: &Server<'_>) -> ObjectRef {
    server
        .mode
        .by
        .map_or_else(|| server.pod.id.clone(), |(policy, _)| policy.id.clone())
}

fn is_behind(called: &CalledService<'_>, pod: &PodFacts) -> bool {
    let selector = called_service::selector(called.service);
    pod.running
        && pod.namespace == called.service.id.namespace
        && selector.is_some_and(|wanted| {
            wanted
                .members()
                .iter()
                .all(|m| pod.labels.get(&m.key) == m.value.str())
        })
}

type Told = ((ObjectRef, String, Evidence), Vec<Evidence>, Vec<Fix>);

fn tell(
    facts: &Facts<'_>,
    rule: &Object,
    tls: &Node,
    sends: Sends,
    server: &Server<'_>,
    called: &CalledService<'_>,
) -> Told {
    let mode = tls.get("mode").unwrap_or(tls);
    let word = mode.str().unwrap_or_default();
    let at_rule = Evidence::of(rule, mode, "what clients send");
    let Some((policy, node)) = server.mode.by else {
        let message = format!(
            "{} makes clients of {} send {word}, which {} refuses",
            rule.id, called.service.id, server.pod.id
        );
        return ((rule.id.clone(), message, at_rule), Vec::new(), Vec::new());
    };
    let at_policy = Evidence::of(policy, node, "what the server takes");
    if sends != Sends::Mutual {
        let message = format!(
            "{} makes clients send {} to {}, and {} takes only mutual TLS there",
            rule.id,
            if sends == Sends::Plain {
                "plain text"
            } else {
                "TLS of their own"
            },
            called.service.id,
            policy.id
        );
        if rule.id.is(Kind::ConfigMap) {
            let fix = Fix::advice("set enableAutoMtls: true in the mesh's settings");
            return (
                (rule.id.clone(), message, at_rule),
                vec![at_policy],
                vec![fix],
            );
        }
        let mut fixes = vec![Fix::patch(
            &rule.id,
            [Op::replace(rule.path_of(mode), "ISTIO_MUTUAL")],
        )];
        if only_says_tls(rule) {
            fixes.push(Fix::delete(&rule.id));
        }
        return ((rule.id.clone(), message, at_rule), vec![at_policy], fixes);
    }
    let message = format!(
        "{} makes {} take plain text only, and {} makes clients send it mutual TLS",
        policy.id, called.service.id, rule.id
    );
    let open = Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(node), "PERMISSIVE")],
    );
    // The one that is for the whole mesh is not what stands out.
    let is_root = policy.id.namespace == *facts.mesh.config.root_namespace;
    if is_root && rule.id.namespace != policy.id.namespace {
        return (
            (rule.id.clone(), message, at_rule),
            vec![at_policy],
            vec![open],
        );
    }
    let mut fixes = vec![open];
    if policy.spec().is_some_and(|spec| spec.members().len() == 1) {
        fixes.push(Fix::delete(&policy.id));
    }
    (
        (policy.id.clone(), message, at_policy),
        vec![at_rule],
        fixes,
    )
}

fn tell_bare(
    facts: &Facts<'_>,
    rule: &Object,
    tls: &Node,
    pod: &PodFacts,
    called: &CalledService<'_>,
) -> Told {
    let mode = tls.get("mode").unwrap_or(tls);
    let message = format!(
        "{} makes clients of {} send mutual TLS, and {} has no proxy to take it",
        rule.id,
        called.service.id,
        pod.workload()
    );
    // A rule for many hosts is right for the others.
    let is_for_many = rule
        .spec_at(["host"])
        .and_then(Node::str)
        .is_some_and(|host| host.starts_with('*'));
    let fix = if is_for_many {
        exempt(facts, called.service)
    } else {
        Fix::patch(&rule.id, [Op::replace(rule.path_of(mode), "DISABLE")])
    };
    let proof = Evidence::of(rule, mode, "what clients send");
    ((rule.id.clone(), message, proof), Vec::new(), vec![fix])
}

/// A rule for this Service alone, which goes before one for many.
fn exempt(facts: &Facts<'_>, service: &Object) -> Fix {
    let (name, namespace) = (&service.id.name, &service.id.namespace);
    let id = ObjectRef::of(
        Kind::DestinationRule,
        namespace,
        &format!("{name}-plain-text"),
    );
    let host = facts.mesh.domain.service(name, namespace);
    let yaml = format!(
        "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: {}\n  namespace: {namespace}\nspec:\n  host: {host}\n  trafficPolicy:\n    tls:\n      mode: DISABLE",
        id.name
    );
    Fix::create(&id, yaml)
}

/// Whether nothing is lost without the rule.
fn only_says_tls(rule: &Object) -> bool {
    let policy = rule
        .spec_at(["trafficPolicy"])
        .map_or(&[][..], Node::members);
    rule.spec_list("subsets").is_empty() && policy.len() == 1 && &*policy[0].key == "tls"
}
