//! See the page beside this file.

use super::servers::{self, Server};
use crate::doc::json::escape;
use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::peer_authentication::MutualTls;
use crate::mesh::scope::Scope;
use crate::mesh::services::ports;
use crate::mesh::{ObjectRef, PodFacts, Stored};
use crate::rules::endpoints::met::{self, Met};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0805",
    name: "client-tls-against-server",
    aka: &["KIA0207", "KIA0208", "KIA0505", "KIA0506"],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "DestinationRules and PeerAuthentications agree on mutual TLS, port by port",
    needs: &[
        "k8s/services.json",
        "k8s/pods.json",
        "k8s/destinationrules.networking.istio.io.json",
        "k8s/peerauthentications.security.istio.io.json",
    ],
    uses: &[
        "k8s/serviceentries.networking.istio.io.json",
        "k8s/sidecars.networking.istio.io.json",
        "k8s/configmaps.json",
    ],
    explains: &["ML10"],
    docs: include_str!("client_tls_against_server.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    match asked {
        Some(asked) => of_request(facts, asked, out),
        None => everywhere(facts, out),
    }
}

fn of_request(facts: &Facts<'_>, asked: &Asked<'_>, out: &mut Sink) {
    let Some(client) = met::client_pod(facts, asked) else { return };
    let has_proxy = facts.mesh.pod(&client.id.namespace, &client.id.name).is_some_and(|pod| pod.has_proxy);
    if !has_proxy || asked.seen.is_some_and(crate::rules::Seen::is_success) {
        return;
    }
    let mut told = Vec::new();
    for met in met::services(facts, Some(asked)) {
        out.examined();
        let clients = std::slice::from_ref(&client.id);
        clash(facts, facts.mesh.scope(client), &met, clients, &mut told, out);
    }
}

fn everywhere(facts: &Facts<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let mut clients: std::collections::BTreeMap<&str, Vec<ObjectRef>> = std::collections::BTreeMap::new();
    for pod in mesh.pods.iter().filter(|pod| pod.has_proxy) {
        clients.entry(&pod.namespace).or_default().push(pod.reference());
    }
    let mut told = Vec::new();
    for service in mesh.objects.of("Service", "") {
        for port in ports(service) {
            let met = Met { service, port: Some(port.number), subset: String::new() };
            out.examined();
            for (namespace, pods) in &clients {
                clash(facts, mesh.namespace_scope(namespace), &met, pods, &mut told, out);
            }
        }
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
fn clash(
    facts: &Facts<'_>,
    scope: Scope<'_>,
    met: &Met<'_>,
    clients: &[ObjectRef],
    told: &mut Vec<(ObjectRef, ObjectRef, usize)>,
    out: &mut Sink,
) {
    let Some(port) = met.port else { return };
    let subset = Some(met.subset.as_str()).filter(|subset| !subset.is_empty());
    let rules = facts.mesh.destination_rule(scope, &met.host());
    let said = rules.as_ref().and_then(|rules| rules.setting("tls", port, subset));
    let Some((rule, tls)) = said else { return };
    let Some(sends) = sends(tls) else { return };
    let servers = servers::of_service(facts, met);
    let bare = facts.mesh.pods.iter().filter(|pod| !pod.has_proxy && is_behind(met, pod)).collect::<Vec<_>>();
    let wrong = servers.iter().find(|server| refuses(server.mode.mode, sends));
    let (other, finding) = match (wrong, bare.first()) {
        (Some(server), _) => (against(server), tell(facts, rule, tls, sends, server, met)),
        (None, Some(pod)) if sends == Sends::Mutual && servers.is_empty() => {
            (pod.reference(), tell_bare(rule, tls, pod, met))
        }
        _ => return,
    };
    let known = told.iter().find(|(a, b, _)| *a == rule.id && *b == other).map(|(_, _, at)| *at);
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
    made.hits(met.service.id.clone());
    for pod in clients.iter().chain(servers.iter().map(|server| &server.pod.id)) {
        made.hits(pod.clone());
    }
}

fn sends(tls: &Node) -> Option<Sends> {
    match tls.str_at("mode")? {
        "DISABLE" => Some(Sends::Plain),
        "SIMPLE" | "MUTUAL" => Some(Sends::OwnTls),
        "ISTIO_MUTUAL" => Some(Sends::Mutual),
        _ => None,
    }
}

/// A port that takes plain text hands TLS that is not Istio's to the application, which may well want it.
fn refuses(mode: MutualTls, sends: Sends) -> bool {
    match mode {
        MutualTls::Strict => sends != Sends::Mutual,
        MutualTls::Disable => sends == Sends::Mutual,
        MutualTls::Permissive => false,
    }
}

fn against(server: &Server<'_>) -> ObjectRef {
    server.mode.by.map_or_else(|| server.pod.id.clone(), |(policy, _)| policy.id.clone())
}

fn is_behind(met: &Met<'_>, pod: &PodFacts) -> bool {
    let selector = met::selector(met.service);
    pod.running
        && pod.namespace == met.service.id.namespace
        && selector.is_some_and(|wanted| {
            wanted.members().iter().all(|m| pod.labels.get(&*m.key).map(String::as_str) == m.value.str())
        })
}

type Told = ((ObjectRef, String, Evidence), Vec<Evidence>, Vec<Fix>);

fn tell(facts: &Facts<'_>, rule: &Stored, tls: &Node, sends: Sends, server: &Server<'_>, met: &Met<'_>) -> Told {
    let mode = tls.get("mode").unwrap_or(tls);
    let word = mode.str().unwrap_or_default();
    let at_rule = Evidence::of(rule, mode, "what clients send");
    let Some((policy, node)) = server.mode.by else {
        let message =
            format!("{} makes clients of {} send {word}, which {} refuses", rule.id, met.service.id, server.pod.id);
        return ((rule.id.clone(), message, at_rule), Vec::new(), Vec::new());
    };
    let at_policy = Evidence::of(policy, node, "what the server takes");
    if sends != Sends::Mutual {
        let message = format!(
            "{} makes clients send {} to {}, and {} takes only mutual TLS there",
            rule.id,
            if sends == Sends::Plain { "plain text" } else { "TLS of their own" },
            met.service.id,
            policy.id
        );
        let path = escape(&met::path_in(rule, mode));
        let patch = format!("[{{\"op\":\"replace\",\"path\":{path},\"value\":\"ISTIO_MUTUAL\"}}]");
        let mut fixes = vec![Fix::json_patch(&rule.id, patch)];
        if only_says_tls(rule) {
            fixes.insert(0, Fix::delete(&rule.id));
        }
        return ((rule.id.clone(), message, at_rule), vec![at_policy], fixes);
    }
    let message = format!(
        "{} makes {} take plain text only, and {} makes clients send it mutual TLS",
        policy.id, met.service.id, rule.id
    );
    let path = escape(&met::path_in(policy, node));
    let patch = format!("[{{\"op\":\"replace\",\"path\":{path},\"value\":\"PERMISSIVE\"}}]");
    // The one that is for the whole mesh is not what stands out.
    let is_root = policy.id.namespace == *facts.mesh.config.root_namespace;
    if is_root && rule.id.namespace != policy.id.namespace {
        return ((rule.id.clone(), message, at_rule), vec![at_policy], vec![Fix::json_patch(&policy.id, patch)]);
    }
    let mut fixes = vec![Fix::json_patch(&policy.id, patch)];
    if policy.spec().is_some_and(|spec| spec.members().len() == 1) {
        fixes.push(Fix::delete(&policy.id));
    }
    ((policy.id.clone(), message, at_policy), vec![at_rule], fixes)
}

fn tell_bare(rule: &Stored, tls: &Node, pod: &PodFacts, met: &Met<'_>) -> Told {
    let mode = tls.get("mode").unwrap_or(tls);
    let message = format!(
        "{} makes clients of {} send mutual TLS, and {} has no proxy to take it",
        rule.id,
        met.service.id,
        pod.workload()
    );
    let path = escape(&met::path_in(rule, mode));
    let patch = format!("[{{\"op\":\"replace\",\"path\":{path},\"value\":\"DISABLE\"}}]");
    let proof = Evidence::of(rule, mode, "what clients send");
    ((rule.id.clone(), message, proof), Vec::new(), vec![Fix::json_patch(&rule.id, patch)])
}

/// Whether nothing is lost without the rule.
fn only_says_tls(rule: &Stored) -> bool {
    let policy = rule.spec_at(["trafficPolicy"]).map_or(&[][..], Node::members);
    rule.spec_list("subsets").is_empty() && policy.len() == 1 && &*policy[0].key == "tls"
}
