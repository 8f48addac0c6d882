//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::services::{is_ready, number, ports, target_port};
use meshladder_text::tree::{Member, Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0205",
    name: "istiod-service-leads-nowhere",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "the Service of every istiod leads to it",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML0202", "ML03", "ML04", "ML05", "ML06", "ML07", "ML10"],
    docs: include_str!("istiod_service_leads_nowhere.md"),
    check: Check::Mesh(check),
};

/// What istiod listens on by default, and the Service's port that leads there: proxies, and the API
/// server.
const PORTS: [(u16, u16, &str); 2] = [
    (15012, 15012, "proxies cannot reach istiod"),
    (443, 15017, "its webhooks fail"),
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let istiods = facts.mesh.istiods(None);
    let mut told: Vec<&Object> = Vec::new();
    for pod in istiods.into_iter().filter(|pod| is_ready(pod)) {
        let Some(service) =
            service_of(facts, pod).filter(|service| told.iter().all(|one| one.id != service.id))
        else {
            continue;
        };
        out.examined();
        told.push(service);
        let Some(selector) = service
            .spec_at(["selector"])
            .filter(|selector| !selector.members().is_empty())
        else {
            continue;
        };
        if has_labels(selector, pod.labels()) {
            for port in PORTS {
                wrong_port(service, pod, port, out);
            }
        } else if facts.mesh.selected_pods(service).is_empty() {
            wrong_selector(service, selector, pod, out);
        }
    }
}

/// `istiod`, or `istiod-<revision>`.
fn service_of<'f>(facts: &Facts<'f>, pod: &Object) -> Option<&'f Object> {
    let named = |name: &str| {
        facts
            .mesh
            .objects
            .get(Kind::Service, &pod.id.namespace, name)
    };
    match pod
        .label("istio.io/rev")
        .filter(|revision| *revision != "default")
    {
        Some(revision) => named(&format!("istiod-{revision}")),
        None => named("istiod"),
    }
}

fn wrong_selector(service: &Object, selector: &Node, pod: &Object, out: &mut Sink) {
    let is_wrong = |label: &&Member| label.value.str() != pod.label(&label.key);
    let wrong: Vec<&Member> = selector.members().iter().filter(is_wrong).collect();
    let Some(first) = wrong.first() else { return };
    let message = format!(
        "{} selects {}, which {} does not have, so nobody reaches istiod",
        service.id,
        called_service::labels_in_words(selector),
        pod.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, &first.value, "what it selects"),
    );
    finding.see(Evidence::of(
        pod,
        pod.labels().unwrap_or(&pod.node),
        "the labels of istiod, which is ready",
    ));
    // `null` takes a label out of the selector that the pod does not have.
    let labels = wrong
        .iter()
        .map(|label| (&*label.key, pod.label(&label.key)));
    finding.fix(Fix::merge(
        &service.id,
        Value::nested(["spec", "selector"], Value::object(labels)),
    ));
}

/// A port that is missing or leads elsewhere. istiod can be told to listen on others, so its own
/// ports must say so.
fn wrong_port(
    service: &Object,
    pod: &Object,
    (port, target, harm): (u16, u16, &str),
    out: &mut Sink,
) {
    let containers = pod.spec_list("containers").iter();
    let declared =
        containers.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    let declared: Vec<u16> = declared
        .filter_map(|port| number(port.get("containerPort")?))
        .collect();
    if !declared.contains(&target) {
        return;
    }
    let own = ports(service).find(|own| own.number == port);
    let leads = own.as_ref().and_then(|own| target_port(own, pod));
    if leads == Some(target)
        || leads.is_some_and(|leads| declared.contains(&leads) && port != target)
    {
        return;
    }
    let list = service.spec_at(["ports"]).unwrap_or(&service.node);
    let (what, node, fix) = if let Some(own) = &own {
        let leads = leads.map_or_else(|| "no port of it".to_owned(), |leads| leads.to_string());
        let what = format!("leads port {port} to {leads}, where istiod does not listen");
        let path = format!("{}/targetPort", service.path_of(own.node));
        (
            what,
            own.node,
            Fix::patch(&service.id, [Op::add(path, target)]),
        )
    } else {
        let added = Value::object([
            ("name", Value::from(format!("tls-{target}"))),
            ("port", port.into()),
            ("protocol", "TCP".into()),
            ("targetPort", target.into()),
        ]);
        (
            format!("has no port {port}"),
            list,
            Fix::patch(&service.id, [Op::add("/spec/ports/-", added)]),
        )
    };
    let message = format!("{} {what}, so {harm}", service.id);
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, node, "its ports"),
    );
    finding.see(Evidence::of(
        pod,
        pod.spec_at(["containers"]).unwrap_or(&pod.node),
        "where istiod listens",
    ));
    finding.fix(fix);
}
