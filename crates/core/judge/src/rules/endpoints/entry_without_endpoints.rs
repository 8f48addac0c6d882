//! See the page beside this file.

use super::called_service;
use super::service_selects_no_pods::{Near, nearest_of};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0724",
    name: "entry-without-endpoints",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every ServiceEntry with resolution STATIC has an endpoint, or selects one",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Pod, Kind::Service]),
    uses: Inputs::of(&[Kind::WorkloadEntry, Kind::Sidecar]),
    explains: &["ML10"],
    docs: include_str!("entry_without_endpoints.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for entry in entries(facts, case) {
        out.examined();
        let is_static = entry.spec_at(["resolution"]).and_then(Node::str) == Some("STATIC");
        if !is_static || has_endpoints(facts.mesh, entry) {
            continue;
        }
        match facts
            .unread(Kind::WorkloadEntry)
            .filter(|_| selector(entry).is_some())
        {
            Some(fact) if case.is_some() => out.unknown(fact),
            Some(_) => {}
            None => tell(facts.mesh, entry, case, out),
        }
    }
}

/// The ServiceEntries that the request is sent to; without a request all there are.
fn entries<'f>(facts: &Facts<'f>, case: Option<&Case<'_>>) -> Vec<&'f Object> {
    let Some(case) = case else {
        return facts
            .mesh
            .objects
            .of_kind(Kind::ServiceEntry)
            .iter()
            .collect();
    };
    let Some(scope) = called_service::client_scope(facts, case) else {
        return Vec::new();
    };
    let hosts = case
        .clusters()
        .filter_map(ClusterName::parse)
        .map(|cluster| cluster.host);
    let first = hosts.filter_map(|host| facts.mesh.registry(scope, host).into_iter().next());
    let mut found: Vec<&Object> = first
        .filter(|owner| owner.id.is(Kind::ServiceEntry))
        .collect();
    found.dedup_by(|a, b| a.id == b.id);
    found
}

/// Its own endpoints, those of others in its namespace with the same host, and whom its selector
/// finds. "Only one of `endpoints` or `workloadSelector` can be specified."
fn has_endpoints(mesh: &Mesh, entry: &Object) -> bool {
    let own = |entry: &Object| {
        let selected = || {
            selector(entry)
                .is_some_and(|labels| selectable(mesh, entry).any(|(_, has)| fits(labels, has)))
        };
        !entry.spec_list("endpoints").is_empty() || selected()
    };
    let others = entry
        .spec_strings("hosts")
        .flat_map(|host| mesh.registered(host));
    own(entry)
        || others
            .filter(|other| other.id != entry.id && other.id.namespace == entry.id.namespace)
            .any(|other| other.id.is(Kind::Service) || own(other))
}

fn fits(selector: &Node, labels: &Node) -> bool {
    has_labels(selector, Some(labels))
}

fn selector(entry: &Object) -> Option<&Node> {
    entry
        .spec_at(["workloadSelector", "labels"])
        .filter(|labels| !labels.members().is_empty())
}

/// "… select WorkloadEntry objects and Kubernetes pods … in the same namespace": each with its
/// labels.
fn selectable<'m>(mesh: &'m Mesh, entry: &Object) -> impl Iterator<Item = (&'m Object, &'m Node)> {
    let namespace = entry.id.namespace.clone();
    let entries = mesh.objects.in_namespace(Kind::WorkloadEntry, &namespace);
    let entries: Vec<_> = entries
        .filter_map(|entry| Some((entry, entry.spec_at(["labels"])?)))
        .collect();
    let pods: Vec<_> = mesh
        .objects
        .in_namespace(Kind::Pod, &namespace)
        .filter_map(|pod| Some((pod, pod.labels()?)))
        .collect();
    entries.into_iter().chain(pods)
}

fn tell(mesh: &Mesh, entry: &Object, case: Option<&Case<'_>>, out: &mut Sink) {
    let selector = selector(entry);
    let near = selector.and_then(|labels| nearest_of(entry, labels, selectable(mesh, entry)));
    let hosts = entry.spec_strings("hosts").collect::<Vec<_>>().join(", ");
    let why = match (selector, &near) {
        (Some(labels), Some(near)) => format!(
            "selects {}, which nothing in {} has; {} has {}={}",
            called_service::labels_in_words(labels),
            entry.id.namespace,
            near.object.id,
            near.key,
            near.value
        ),
        (Some(labels), None) => {
            format!(
                "selects {}, which nothing in {} has",
                called_service::labels_in_words(labels),
                entry.id.namespace
            )
        }
        (None, _) => "is STATIC without endpoints".to_owned(),
    };
    let at = selector
        .or_else(|| entry.spec_at(["resolution"]))
        .unwrap_or(&entry.node);
    let message = format!("{} {why}, so {hosts} has no endpoint", entry.id);
    let finding = out.find(
        entry.id.clone(),
        message,
        Evidence::of(entry, at, "where endpoints should come from"),
    );
    let works = case.is_some_and(|case| case.seen.is_some_and(Symptom::is_success));
    // A workload may be away for a while; an entry without any place for endpoints never works.
    if works
        || (case.is_none() && selector.is_some() && !near.as_ref().is_some_and(|near| near.is_typo))
    {
        finding
            .severity(Severity::Info)
            .when_asked(Severity::Warning);
    } else if case.is_none() {
        finding.severity(Severity::Warning);
    }
    finding.hits.extend(
        case.and_then(|case| case.client)
            .map(meshladder_mesh::PodFacts::reference),
    );
    if let Some(Near { object, labels, .. }) = &near {
        finding.see(Evidence::of(
            object,
            labels,
            format!("the labels of {}", object.id),
        ));
    }
    finding
        .fixes
        .extend(near.map(|near| near.fix(&entry.id, "workloadSelector/labels")));
    if selector.is_none()
        && entry
            .spec_strings("hosts")
            .all(|host| !host.starts_with('*'))
    {
        let dns = Fix::merge(&entry.id, Value::nested(["spec", "resolution"], "DNS"));
        finding.fix(dns.unchecked("whether DNS knows the host, no object tells"));
    }
    finding.fix(Fix::advice(
        "give it the addresses at which the host is served",
    ));
}
