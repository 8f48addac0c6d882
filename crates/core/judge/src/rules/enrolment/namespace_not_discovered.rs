//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::selector::accepts;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0318",
    name: "namespace-not-discovered",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "istiod sees every namespace that has proxies",
    needs: Inputs::of(&[Kind::Namespace, Kind::Pod, Kind::ConfigMap]),
    uses: Inputs::of(&[Kind::Service, Kind::Event]),
    explains: &[
        "ML0313", "ML04", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10",
    ],
    docs: include_str!("namespace_not_discovered.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let config = &facts.mesh.config;
    let selectors = config
        .tree
        .as_ref()
        .and_then(|tree| tree.get("discoverySelectors"))
        .map_or(&[][..], Node::items);
    let settings = config
        .object
        .as_ref()
        .and_then(|id| facts.mesh.objects.find(id));
    let (false, Some(settings)) = (selectors.is_empty(), settings) else {
        return;
    };
    let enrolled = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy)
        .map(|pod| pod.namespace.as_str());
    let (mut seen, mut unseen) = (0, Vec::new());
    for name in enrolled.collect::<BTreeSet<&str>>() {
        let Some(namespace) = facts.mesh.objects.get(Kind::Namespace, "", name) else {
            continue;
        };
        out.examined();
        let is_seen = selectors
            .iter()
            .any(|selector| accepts(selector, namespace.labels()));
        if is_seen {
            seen += 1;
        } else if *name != *config.root_namespace {
            unseen.push(namespace);
        }
    }
    // Selectors that accept no namespace of the mesh are themselves amiss.
    if seen == 0 && unseen.len() > 1 {
        return tell_all(facts, &unseen, settings, out);
    }
    for namespace in unseen {
        tell(facts, namespace, settings, selectors, out);
    }
}

fn tell_all(facts: &Facts<'_>, unseen: &[&Object], settings: &Object, out: &mut Sink) {
    let names: Vec<&str> = unseen.iter().map(|one| one.id.name.as_str()).collect();
    let message = format!(
        "istiod looks at none of the namespaces that have proxies ({}): no discoverySelector of {} accepts their labels, so \
         nobody knows their Services and their new pods get no root certificate",
        names.join(", "),
        settings.id
    );
    let mesh = settings.node.at(["data", "mesh"]).unwrap_or(&settings.node);
    let proof = Evidence::of(settings, mesh, "discoverySelectors");
    let finding = out.find(settings.id.clone(), message, proof);
    for namespace in unseen {
        let labels = namespace.labels().unwrap_or(&namespace.node);
        finding.see(Evidence::of(
            namespace,
            labels,
            format!("the labels of {}", namespace.id),
        ));
        hit(facts, &namespace.id.name, finding);
    }
    finding.fix(Fix::advice(format!(
        "widen discoverySelectors in {}, or label the namespaces as they ask",
        settings.id
    )));
}

/// The proxies and the Services of a namespace suffer.
fn hit(facts: &Facts<'_>, namespace: &str, finding: &mut Finding) {
    let proxies = facts.mesh.pods.iter();
    for pod in proxies.filter(|pod| pod.namespace == namespace && pod.has_proxy) {
        finding.hits(pod.reference());
    }
    for service in facts.mesh.objects.in_namespace(Kind::Service, namespace) {
        finding.hits(service.id.clone());
    }
}

fn tell(
    facts: &Facts<'_>,
    namespace: &Object,
    settings: &Object,
    selectors: &[Node],
    out: &mut Sink,
) {
    let name = &namespace.id.name;
    let message = format!(
        "istiod does not look at {}: no discoverySelector of {} accepts its labels, so others do not know its Services \
         and its new pods get no root certificate",
        namespace.id, settings.id
    );
    let labels = namespace.labels().unwrap_or(&namespace.node);
    let finding = out.find(
        namespace.id.clone(),
        message,
        Evidence::of(namespace, labels, "its labels"),
    );
    let mesh = settings.node.at(["data", "mesh"]).unwrap_or(&settings.node);
    finding.see(Evidence::of(settings, mesh, "discoverySelectors"));
    let waits = |event: &&Object| {
        let message = event.node.str_at("message").unwrap_or_default();
        message.contains("istio-ca-root-cert") && message.contains("not found")
    };
    if let Some(event) = facts
        .mesh
        .objects
        .in_namespace(Kind::Event, name)
        .find(waits)
    {
        let message = event.node.get("message").unwrap_or(&event.node);
        finding.see(Evidence::of(
            event,
            message,
            "a pod that waits for its root certificate",
        ));
    }
    hit(facts, name, finding);
    let wanted = selectors
        .iter()
        .find(|selector| selector.get("matchExpressions").is_none());
    if let Some(wanted) = wanted.and_then(|selector| selector.get("matchLabels")) {
        let patch = Value::nested(["metadata", "labels"], wanted);
        finding.fix(Fix::merge(&namespace.id, patch));
    }
    finding.fix(Fix::advice(format!(
        "or widen discoverySelectors in {}",
        settings.id
    )));
}
