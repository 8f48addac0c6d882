//! See the page beside this file.

use super::entries::{Entry, entries};
use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::{Protocol, ServicePort, ports};

pub(super) static RULE: Rule = Rule {
    code: "ML0515",
    name: "tcp-and-http-on-one-wildcard-port",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no ServiceEntry without an address speaks TCP on a port where Services speak HTTP",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML06"],
    docs: include_str!("tcp_and_http_on_one_wildcard_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for entry in
        entries(facts.mesh).filter(|entry| entry.protocol == Protocol::Tcp && !entry.has_address())
    {
        if case.is_some_and(|case| case.call.to.port != entry.port || !met::fails(case)) {
            continue;
        }
        out.examined();
        let services = facts.mesh.objects.of_kind(Kind::Service).iter();
        let http = services.filter_map(|service| Some((service, http_port(service, entry.port)?)));
        let seen = http.filter(|(service, _)| {
            facts
                .mesh
                .is_exported_to(entry.object, &service.id.namespace)
        });
        let all: Vec<(&Object, ServicePort<'_>)> = seen.collect();
        if let Some(first) = all.first() {
            tell(&entry, *first, &all, out);
        }
    }
}

fn http_port(service: &Object, number: u16) -> Option<ServicePort<'_>> {
    ports(service).find(|port| port.number == number && port.protocol.is_http())
}

fn tell(
    entry: &Entry<'_>,
    (service, port): (&Object, ServicePort<'_>),
    all: &[(&Object, ServicePort<'_>)],
    out: &mut Sink,
) {
    let more = if all.len() > 1 {
        format!(" and {} more", all.len() - 1)
    } else {
        String::new()
    };
    let message = format!(
        "{} speaks TCP on every address of port {}, where {}{more} speaks HTTP: sidecars listen there for one of them only",
        entry.object.id, entry.port, service.id
    );
    let finding = out.find(
        entry.object.id.clone(),
        message,
        Evidence::of(entry.object, entry.node, "TCP, and no address"),
    );
    finding.see(Evidence::of(service, port.node, "HTTP on the same port"));
    for (service, _) in all {
        finding.hits(service.id.clone());
    }
    finding.fix(Fix::advice(
        "give the ServiceEntry `addresses`, or another port",
    ));
}
