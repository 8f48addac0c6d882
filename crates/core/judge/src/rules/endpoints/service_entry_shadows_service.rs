//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0720",
    name: "service-entry-shadows-service",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "no ServiceEntry takes a Kubernetes Service's name away from its clients",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Service]),
    uses: Inputs::of(&[Kind::Pod, Kind::Sidecar]),
    explains: &["ML07", "ML10"],
    docs: include_str!("service_entry_shadows_service.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let client = case.and_then(|case| called_service::client_scope(facts, case));
    if case.is_some() && client.is_none() {
        return;
    }
    let asked_hosts: Option<Vec<String>> = case.map(|case| {
        called_service::services(facts, Some(case))
            .iter()
            .map(|called| called.host(facts))
            .collect()
    });
    for entry in mesh.objects.of_kind(Kind::ServiceEntry) {
        for host in entry.spec_list("hosts") {
            let Some(name) = host.str() else { continue };
            let Some(service) = mesh.service_of_host(name) else {
                continue;
            };
            if asked_hosts
                .as_ref()
                .is_some_and(|hosts| !hosts.iter().any(|h| h == name))
            {
                continue;
            }
            out.examined();
            let scope = client.unwrap_or_else(|| mesh.namespace_scope(&entry.id.namespace));
            let strangers = strangers(mesh, entry, service);
            if entry.id.namespace == service.id.namespace {
                if let (Some(case), false) = (case, strangers.is_empty()) {
                    joined(facts, case, (entry, host), service, &strangers, out);
                }
            } else if is_first(mesh, scope, name, entry) && leads_elsewhere(mesh, entry, service) {
                shadowed(facts, case, (entry, host), service, scope, out);
            }
        }
    }
}

/// The addresses that the entry gives and the Service does not have: its own endpoints, and the
/// pods that it selects.
fn strangers<'m>(mesh: &'m Mesh, entry: &'m Object, service: &'m Object) -> Vec<&'m str> {
    let ip = |pod: &'m Object| pod.node.at(["status", "podIP"]).and_then(Node::str);
    let own: Vec<&str> = mesh
        .selected_pods(service)
        .into_iter()
        .filter_map(ip)
        .collect();
    let labels = entry.spec_at(["workloadSelector", "labels"]);
    let selected = labels
        .into_iter()
        .flat_map(|labels| mesh.pods_with(Some(&entry.id.namespace), labels))
        .filter_map(ip);
    let mut all: Vec<&str> = addresses(entry).chain(selected).collect();
    all.retain(|address| !own.contains(address));
    all
}

/// "istiod collects the endpoints of one host and namespace from all its sources": in a Service's
/// own namespace an entry adds its endpoints to the Service's.
fn joined(
    facts: &Facts<'_>,
    case: &Case<'_>,
    (entry, host): (&Object, &Node),
    service: &Object,
    strangers: &[&str],
    out: &mut Sink,
) {
    let message = format!(
        "{} has the name of {} in its own namespace, so {} joins the Service's endpoints and answers in its place",
        entry.id,
        service.id,
        strangers.join(", ")
    );
    let proof = Evidence::of(entry, host, "the Service's own name");
    let finding = out.find(entry.id.clone(), message, proof);
    let at = ["workloadSelector", "endpoints"];
    if let Some(node) = at.into_iter().find_map(|key| entry.spec_at([key])) {
        finding.see(Evidence::of(entry, node, "whom it adds"));
    }
    if case.seen.is_some_and(Symptom::is_success) {
        finding.severity(Severity::Warning);
    }
    finding.hits(service.id.clone());
    let client = called_service::client_pod(facts, case);
    finding.hits.extend(client.map(|client| client.id.clone()));
    finding.fix(Fix::delete(&entry.id));
    finding.fix(Fix::advice(format!("give {} a name of its own", entry.id)));
}

fn shadowed(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    (entry, host): (&Object, &Node),
    service: &Object,
    scope: Scope<'_>,
    out: &mut Sink,
) {
    let mesh = facts.mesh;
    let clients = mesh
        .pods
        .iter()
        .filter(|pod| pod.namespace == scope.namespace && pod.has_proxy);
    let clients: Vec<_> = clients.map(meshladder_mesh::PodFacts::reference).collect();
    let places: Vec<&str> = addresses(entry).collect();
    let to = if places.is_empty() {
        "its own endpoints".to_owned()
    } else {
        places.join(", ")
    };
    let message = format!(
        "for clients in {} {} takes the place of {}: {} leads them to {to}, not to the Service's pods",
        scope.namespace,
        entry.id,
        service.id,
        host.str().unwrap_or_default()
    );
    let finding = out.find(
        entry.id.clone(),
        message,
        Evidence::of(entry, host, "the Service's own name"),
    );
    finding.see(Evidence::of(
        service,
        called_service::selector(service).unwrap_or(&service.node),
        "the Service that is shadowed",
    ));
    // Some do it on purpose, as in a migration: then nobody asks why others answer.
    let works = case.is_some_and(|case| case.seen.is_some_and(Symptom::is_success));
    let serves = places.iter().any(|place| {
        place
            .parse()
            .is_ok_and(|address| mesh.pod_at(address).is_some())
    });
    if clients.is_empty() {
        finding.severity(Severity::Info);
    } else if case.is_none() || serves || works {
        finding.severity(Severity::Warning);
    }
    finding.hits(service.id.clone());
    match case.and_then(|case| called_service::client_pod(facts, case)) {
        Some(client) => _ = finding.hits(client.id.clone()),
        None => clients
            .into_iter()
            .for_each(|client| _ = finding.hits(client)),
    }
    if entry.spec_list("hosts").len() > 1 {
        let remove = vec![Op::remove(entry.path_of(host))];
        finding.fix(Fix::patch(&entry.id, remove));
    }
    finding.fix(Fix::delete(&entry.id));
    finding.fix(Fix::advice(format!("give {} a name of its own", entry.id)));
}

/// Whether it is the one whose endpoints such a client uses.
fn is_first(mesh: &Mesh, scope: Scope<'_>, host: &str, entry: &Object) -> bool {
    mesh.registry(scope, host)
        .first()
        .is_some_and(|first| first.id == entry.id)
}

/// Whether it has other endpoints than the Service.
pub(in crate::rules) fn leads_elsewhere(mesh: &Mesh, entry: &Object, service: &Object) -> bool {
    if entry.spec_at(["workloadSelector"]).is_some() {
        return false;
    }
    let pods = mesh.selected_pods(service);
    let own: Vec<&str> = pods
        .iter()
        .filter_map(|pod| pod.node.at(["status", "podIP"])?.str())
        .collect();
    addresses(entry).any(|address| !own.contains(&address)) || addresses(entry).next().is_none()
}

fn addresses(entry: &Object) -> impl Iterator<Item = &str> {
    entry
        .spec_list("endpoints")
        .iter()
        .filter_map(|endpoint| endpoint.str_at("address"))
}
