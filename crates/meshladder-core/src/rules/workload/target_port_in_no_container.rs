//! See the page beside this file.

use std::collections::BTreeMap;

use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::injection::Template;
use crate::mesh::services::{ServicePort, number, ports};
use crate::mesh::{ObjectRef, Stored};
use crate::rules::analyzed::SERVICES;
use crate::rules::workloads::{self, Selectors};
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML3802",
    name: "target-port-in-no-container",
    aka: &["KIA0701"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every targetPort of a Service is a port of a container behind it",
    needs: &[SERVICES],
    uses: workloads::PATHS,
    explains: &[],
    docs: include_str!("target_port_in_no_container.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let services = facts.mesh.objects.of("Service", "").filter(|service| !service.is_assumed());
    let selectors = Selectors::by(services, |service| service.spec_at(["selector"]));
    let mut behind: BTreeMap<&ObjectRef, (&Stored, Vec<Template<'_>>)> = BTreeMap::new();
    for template in workloads::templates(facts.mesh) {
        for service in selectors.selecting(template.namespace(), template.labels()) {
            behind.entry(&service.id).or_insert((service, Vec::new())).1.push(template);
        }
    }
    for (service, templates) in behind.values() {
        for port in ports(service) {
            out.examined();
            let node = port.target_port.unwrap_or(port.node);
            let Some((what, verb, severity)) = missing(&port, templates) else { continue };
            let first = templates[0].object;
            let message = format!(
                "{} leads port {} to {what}, which no container of {} {verb}",
                service.id, port.number, first.id
            );
            out.find(service.id.clone(), message, Evidence::of(service, node, "where it leads"))
                .see(Evidence::object(first, "what it leads to"))
                .fix(Fix::advice("lead to a port that a container has"))
                .severity(severity);
        }
    }
}

/// What no container has. A name leads nowhere then. A number need not be declared, so that is only worth knowing, and
/// only where containers declare others.
fn missing(port: &ServicePort<'_>, templates: &[Template<'_>]) -> Option<(String, &'static str, Severity)> {
    if let Some(name) = port.target_port.filter(|target| number(target).is_none()).and_then(Node::str) {
        let has = |port: &Node| port.str_at("name") == Some(name);
        let is_somewhere = templates.iter().any(|template| declared(*template).any(|(_, port)| has(port)));
        return (!is_somewhere).then(|| (format!("port {name}"), "has", Severity::Warning));
    }
    let target = port.target_port.and_then(number).unwrap_or(port.number);
    let has = |port: &Node| port.get("containerPort").and_then(number) == Some(target);
    let lacks = |template: &Template<'_>| {
        let of_application = |container: &Node| container.str_at("name") != Some("istio-proxy");
        declared(*template).any(|(container, _)| of_application(container))
            && !declared(*template).any(|(_, port)| has(port))
    };
    templates.iter().all(lacks).then(|| (target.to_string(), "declares", Severity::Info))
}

/// The ports of its containers, each with the container.
fn declared(template: Template<'_>) -> impl Iterator<Item = (&Node, &Node)> {
    template.containers().flat_map(|container| container.items_at("ports").iter().map(move |port| (container, port)))
}
