//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::called_service;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::age;
use meshladder_mesh::services::{Protocol, ServicePort, ports, target_port};
use meshladder_mesh::views::Pod;
use meshladder_mesh::{Object, ObjectRef};

pub(super) static RULE: Rule = Rule {
    code: "ML0719",
    name: "services-disagree-on-port",
    aka: &["IST0137", "IST0116"],
    rung: Rung::Endpoints,
    severity: Severity::Warning,
    claim: "Services that lead to one port of a pod agree on its protocol",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("services_disagree_on_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mut told = BTreeSet::new();
    let mut known: BTreeMap<&ObjectRef, Vec<Clash<'_>>> = BTreeMap::new();
    for called in called_service::services(facts, case) {
        out.examined();
        let Some(pod) = called
            .pods(facts.mesh, None)
            .into_iter()
            .find(|pod| Pod::of(pod).has_proxy())
        else {
            continue;
        };
        for clash in known.entry(&pod.id).or_insert_with(|| clashes(facts, pod)) {
            let Clash {
                number,
                older: (first, port),
                younger: (other, clash),
            } = clash;
            let is_asked = first.id == called.service.id || other.id == called.service.id;
            if !is_asked || !told.insert((first.id.clone(), other.id.clone(), *number)) {
                continue;
            }
            let message = format!(
                "{} and {} both lead to port {number} of {}, one as {} and one as {}: the pod's proxy can use only one",
                first.id,
                other.id,
                called_service::workload_ref(facts.mesh, pod),
                kind(port),
                kind(clash)
            );
            let finding = out.find(
                other.id.clone(),
                message,
                Evidence::of(other, clash.node, "the younger Service's port"),
            );
            finding.see(Evidence::of(first, port.node, "the older Service's port"));
            finding.hits(first.id.clone());
            called_service::hit(finding, other, &[pod], case);
            // What is sniffed may still be told apart on the wire.
            if [port, clash]
                .iter()
                .any(|port| port.protocol == Protocol::Sniffed)
            {
                finding.severity(Severity::Info);
            }
            finding.fix(Fix::advice(
                "give both ports a name or appProtocol that says the same protocol",
            ));
        }
    }
}

/// A port of a pod that two Services take for different things.
struct Clash<'m> {
    number: u16,
    older: (&'m Object, ServicePort<'m>),
    younger: (&'m Object, ServicePort<'m>),
}

fn clashes<'m>(facts: &Facts<'m>, pod: &'m Object) -> Vec<Clash<'m>> {
    let mut clashes = Vec::new();
    for (number, mut claims) in claims(facts, pod) {
        claims.sort_by_key(|(service, _)| age(&service.node));
        let mut claims = claims.into_iter();
        let Some(older) = claims.next() else {
            continue;
        };
        let younger = claims.find(|(_, other)| kind(other) != kind(&older.1));
        clashes.extend(younger.map(|younger| Clash {
            number,
            older,
            younger,
        }));
    }
    clashes
}

/// For each port of a pod, the Services' ports that lead there.
fn claims<'m>(
    facts: &Facts<'m>,
    pod: &'m Object,
) -> BTreeMap<u16, Vec<(&'m Object, ServicePort<'m>)>> {
    let mut claims: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    for service in facts.mesh.services_of(pod) {
        for port in ports(service) {
            if let Some(number) =
                target_port(&port, pod).filter(|_| !matches!(port.protocol, Protocol::Udp))
            {
                claims.entry(number).or_default().push((service, port));
            }
        }
    }
    claims
}

/// What matters to a listener.
fn kind(port: &ServicePort<'_>) -> &'static str {
    match port.protocol {
        Protocol::Sniffed => "whatever it finds",
        protocol if protocol.is_http() => "HTTP",
        _ => "TCP",
    }
}
