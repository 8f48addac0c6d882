//! Connections that other objects ask for: a gateway's routes, and callers that a policy lets in by
//! name.

use super::{Way, tell};
use crate::finding::Severity;
use crate::rules::{Facts, Sink};
use meshladder_capture::Kind;
use meshladder_mesh::network_policy::{End, Passage};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::scope::is_router;
use meshladder_mesh::traffic::destinations;
use meshladder_mesh::{Object, PodFacts, ServiceFacts};
use meshladder_text::tree::Node;

/// Nobody was seen to be kept out yet: a connection that is there may last, and not every network
/// heeds policies.
pub(super) fn of_objects(facts: &Facts<'_>, out: &mut Sink) {
    for (client, service) in by_routes(facts) {
        judge(facts, client, service, Severity::Warning, out);
    }
    for (client, service) in by_policies(facts) {
        judge(facts, client, service, Severity::Info, out);
    }
}

fn judge(
    facts: &Facts<'_>,
    client: &Object,
    service: &ServiceFacts,
    severity: Severity,
    out: &mut Sink,
) {
    for (port, _) in &service.ports {
        let from = End::Pod(client);
        let reaches = facts.mesh.reach_service(from, service, *port, "TCP");
        out.examined();
        if reaches.is_empty() || !reaches.iter().all(|reach| reach.passage.is_blocked()) {
            continue;
        }
        let Some(reach) = reaches.into_iter().next() else {
            continue;
        };
        let way = Way {
            from,
            to: reach.to,
            port: reach.port,
            passage: reach.passage,
        };
        let Passage::Blocked(blocked) = &way.passage else {
            continue;
        };
        if out
            .findings
            .iter()
            .any(|known| known.subject == blocked[0].opening.policy.id)
        {
            continue;
        }
        tell(facts, None, &way, blocked, None, out);
        if let Some(finding) = out.findings.last_mut() {
            finding.severity(severity).when_asked(Severity::Warning);
            finding.hits(meshladder_mesh::ObjectRef::of(
                Kind::Service,
                &service.namespace,
                &service.name,
            ));
        }
    }
}

/// Gateways' pods, and the Services that their routes lead to.
fn by_routes<'f>(facts: &Facts<'f>) -> Vec<(&'f Object, &'f ServiceFacts)> {
    let mesh = facts.mesh;
    let mut found = Vec::new();
    for router in mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|pod| is_router(pod))
    {
        let gateways = mesh.gateways_of(router);
        let names_one = |service: &&Object| {
            service.spec_strings("gateways").any(|entry| {
                let (namespace, name) =
                    meshladder_mesh::gateways::gateway_name(entry, &service.id.namespace);
                gateways
                    .iter()
                    .any(|gateway| gateway.id.namespace == namespace && gateway.id.name == name)
            })
        };
        for service in mesh
            .objects
            .of_kind(Kind::VirtualService)
            .iter()
            .filter(names_one)
        {
            let hosts = destinations(service, &facts.mesh.domain)
                .into_iter()
                .map(|to| to.host);
            found.extend(hosts.filter_map(|host| {
                Some((router, mesh.service_named(&host, &service.id.namespace)?))
            }));
        }
    }
    found
}

/// A pod of each caller that an ALLOW policy names in full, and the Services of the pods that the
/// policy is for.
fn by_policies<'f>(facts: &Facts<'f>) -> Vec<(&'f Object, &'f ServiceFacts)> {
    let mut found = Vec::new();
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        let action = policy
            .spec_at(["action"])
            .and_then(Node::str)
            .unwrap_or("ALLOW");
        let callers: Vec<&Object> = principals(policy)
            .filter_map(|principal| caller(facts, principal))
            .collect();
        if action != "ALLOW" || callers.is_empty() {
            continue;
        }
        let is_for = |service: &&ServiceFacts| {
            service.namespace == policy.id.namespace
                && facts
                    .mesh
                    .pods_of(service)
                    .any(|pod| reaches(facts, policy, pod))
        };
        for service in facts.mesh.services.iter().filter(is_for) {
            found.extend(callers.iter().map(|caller| (*caller, service)));
        }
    }
    found
}

fn principals(policy: &Object) -> impl Iterator<Item = &str> {
    let from = policy
        .spec_list("rules")
        .iter()
        .flat_map(|rule| rule.get("from").map_or(&[][..], Node::items));
    let lists = from.filter_map(|from| from.at(["source", "principals"]));
    lists.flat_map(Node::items).filter_map(Node::str)
}

/// `cluster.local/ns/shop/sa/cart`
fn caller<'f>(facts: &Facts<'f>, principal: &str) -> Option<&'f Object> {
    let (_, rest) = principal.split_once("/ns/")?;
    let (namespace, account) = rest.split_once("/sa/")?;
    let is_it = |pod: &&PodFacts| {
        pod.namespace == namespace && pod.service_account == account && pod.running
    };
    let pod = facts.mesh.pods.iter().find(is_it)?;
    facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name)
}

fn reaches(facts: &Facts<'_>, policy: &Object, pod: &PodFacts) -> bool {
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return false;
    };
    facts
        .mesh
        .policies(Kind::AuthorizationPolicy, &Workload::of(stored))
        .iter()
        .any(|known| known.id == policy.id)
}
