//! See the page beside this file.

use super::{met, patch};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::fleet::Rejected;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::services::{Protocol, ServicePort, ports};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_sim::trace::EndKind;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0517",
    name: "external-name-breaks-port",
    aka: &["IST0150"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no Service of type ExternalName declares an HTTP port",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::NONE.and(&[Part::Proxies]),
    explains: &["ML04", "ML06"],
    docs: include_str!("external_name_breaks_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let external =
        |service: &&Object| service.spec_at(["type"]).and_then(|t| t.str()) == Some("ExternalName");
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .filter(external)
    {
        for port in ports(service).filter(|port| case.is_none_or(|case| meets(case, port))) {
            out.examined();
            if let Some(case) = case.filter(|case| is_missed(facts, case, service)) {
                tell_missed(case, service, out);
                continue;
            }
            if port.protocol.is_http() || port.protocol == Protocol::Sniffed {
                tell(facts, service, &port, out);
            }
        }
    }
}

/// A port's routes are refused or lost as a whole, whatever the host.
fn meets(case: &Case<'_>, port: &ServicePort<'_>) -> bool {
    case.call.to.port == port.number && met::fails(case)
}

/// Whether the request is led to this Service, for which the proxy has no cluster: istiod takes it
/// for another name of a host, and makes clusters for that host only.
fn is_missed(facts: &Facts<'_>, case: &Case<'_>, service: &Object) -> bool {
    let host = facts
        .mesh
        .domain
        .service(&service.id.name, &service.id.namespace);
    let is_led = |cluster: &str| ClusterName::parse(cluster).is_some_and(|own| own.host == host);
    let lacks_cluster = case
        .seen
        .map_or(case.trace.outcome.kind == EndKind::NoCluster, |seen| {
            seen.has("NC")
                || (seen.flags.is_empty() && case.trace.outcome.kind == EndKind::NoCluster)
        });
    lacks_cluster && (case.host == host || case.clusters().any(is_led))
}

fn tell_missed(case: &Case<'_>, service: &Object, out: &mut Sink) {
    let name = service.spec_at(["externalName"]);
    let message = format!(
        "{} is of type ExternalName and only another name of {}, so proxies have no cluster for it, and a route that leads there leads nowhere",
        service.id,
        name.and_then(Node::str).unwrap_or_default()
    );
    let kind = service.spec_at(["type"]).unwrap_or(&service.node);
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, kind, "what it is"),
    );
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(
        "give the Service a selector and a cluster IP again, or lead the route to the host itself, with a ServiceEntry for it",
    ));
}

fn tell(facts: &Facts<'_>, service: &Object, port: &ServicePort<'_>, out: &mut Sink) {
    let refused: Vec<(ObjectRef, &Rejected)> = facts
        .fleet
        .proxies
        .iter()
        .flat_map(|(id, summary)| {
            let pod = ObjectRef::of(Kind::Pod, &id.namespace, &id.pod);
            summary
                .rejected
                .iter()
                .filter(|r| is_for(r, port))
                .map(move |rejected| (pod.clone(), rejected))
        })
        .collect();
    let name = if port.name.is_empty() {
        "without a name".to_owned()
    } else {
        format!("named {}", port.name)
    };
    let message = match refused.as_slice() {
        [] => format!(
            "{} is of type ExternalName and has port {} {name}",
            service.id, port.number
        ),
        refused => format!(
            "{} proxies refuse all routes of port {}: {} is of type ExternalName and has that port {name}",
            refused.len(),
            port.number,
            service.id
        ),
    };
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the port"),
    );
    for (pod, rejected) in &refused {
        finding.hits(pod.clone());
        finding.see(Evidence::offset(
            &rejected.doc,
            rejected.at,
            rejected.details.clone(),
        ));
    }
    grade(finding, facts, refused.is_empty());
    finding.fix(patch::set(service, port.node, "name", "tcp"));
    finding.fix(Fix::advice(
        "start the port's name with tcp, or use a ServiceEntry for the host instead",
    ));
}

/// Since 1.21 istiod takes such a Service for another name of what it points at, and nothing
/// breaks.
fn grade(finding: &mut Finding, facts: &Facts<'_>, is_quiet: bool) {
    let is_old = |version: &str| {
        let mut parts = version
            .split('.')
            .map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
        (parts.next(), parts.next()) < (Some(1), Some(21))
    };
    if is_quiet {
        let old = facts
            .fleet
            .streams
            .iter()
            .any(|stream| !stream.version.is_empty() && is_old(&stream.version));
        finding.severity(if old {
            Severity::Warning
        } else {
            Severity::Info
        });
    }
}

fn is_for(rejected: &Rejected, port: &ServicePort<'_>) -> bool {
    rejected.section == Section::Routes
        && rejected.name == port.number.to_string()
        && rejected.details.to_ascii_lowercase().contains("domains")
}
