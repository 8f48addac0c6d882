//! As the objects alone show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::workloads::{self, Selectors};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::{ServicePort, number, ports};
use meshladder_mesh::views::{Container, PodTemplate};
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Service]),
    uses: workloads::INPUTS,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let services = facts
        .mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .filter(|service| !service.is_assumed());
    let selectors = Selectors::by(services, |service| service.spec_at(["selector"]));
    let mut behind: BTreeMap<usize, Declared<'_>> = BTreeMap::new();
    for template in workloads::templates(facts.mesh) {
        for (number, _) in selectors.selecting(template.namespace(), template.labels()) {
            behind
                .entry(number)
                .or_insert_with(|| Declared::by(template.object))
                .add(template);
        }
    }
    let led = |(number, declared)| {
        selectors
            .numbered(number)
            .iter()
            .map(move |service| (*service, declared))
    };
    let mut led: Vec<(&Object, &Declared<'_>)> =
        behind.iter().map(|(&n, d)| (n, d)).flat_map(led).collect();
    led.sort_by_key(|(service, _)| &service.id);
    for (service, declared) in led {
        for port in ports(service) {
            out.examined();
            let node = port.target_port.unwrap_or(port.node);
            let Some((what, verb, severity)) = missing(&port, declared) else {
                continue;
            };
            let first = declared.first;
            let message = format!(
                "{} leads port {} to {what}, which no container of {} {verb}",
                service.id, port.number, first.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "where it leads"),
            )
            .see(Evidence::object(first, "what it leads to"))
            .fix(Fix::advice("lead to a port that a container has"))
            .severity(severity);
        }
    }
}

/// What no container has. A name leads nowhere then. A number need not be declared, so that is only
/// worth knowing, and only where containers declare others.
fn missing(
    port: &ServicePort<'_>,
    declared: &Declared<'_>,
) -> Option<(String, &'static str, Severity)> {
    if let Some(name) = port
        .target_port
        .filter(|target| number(target).is_none())
        .and_then(Node::str)
    {
        return (!declared.names.contains(name))
            .then(|| (format!("port {name}"), "has", Severity::Warning));
    }
    let target = port.target_port.and_then(number).unwrap_or(port.number);
    (!declared.is_silent && !declared.numbers.contains(&target))
        .then(|| (target.to_string(), "declares", Severity::Info))
}

/// The ports that the workloads behind a Service declare.
struct Declared<'m> {
    first: &'m Object,
    names: BTreeSet<&'m str>,
    numbers: BTreeSet<u16>,
    /// Whether the application of one of them declares none.
    is_silent: bool,
}

impl<'m> Declared<'m> {
    fn by(first: &'m Object) -> Self {
        Self {
            first,
            names: BTreeSet::new(),
            numbers: BTreeSet::new(),
            is_silent: false,
        }
    }

    fn add(&mut self, template: PodTemplate<'m>) {
        let mut applications = template
            .containers()
            .filter(|container| !container.is_proxy());
        self.is_silent |= !applications.any(|container| container.ports().next().is_some());
        for port in template.containers().flat_map(Container::ports) {
            self.names
                .extend(Some(port.name).filter(|name| !name.is_empty()));
            self.numbers.insert(port.number);
        }
    }
}
