//! See the page beside this file.

use super::effect::authority;
use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::host::covers;
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0626",
    name: "service-unknown",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "a host that is written like the name of a Service is one",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::ServiceEntry]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::DestinationRule,
        Kind::VirtualService,
    ]),
    explains: &["ML0612", "ML0614", "ML07", "ML08", "ML10"],
    docs: include_str!("service_unknown.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some((name, namespace)) = named(mesh, case) else {
        return;
    };
    out.examined();
    let full = mesh.domain.service(name, namespace);
    let mut entries = mesh
        .objects
        .of_kind(Kind::ServiceEntry)
        .iter()
        .flat_map(|entry| entry.spec_strings("hosts"));
    let written = case.call.to.host.to_ascii_lowercase();
    let is_known = mesh.registered(&full).next().is_some()
        || entries.any(|host| covers(host, &full) || host == written);
    if is_known || case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let missing = ObjectRef::of(Kind::Service, namespace, name);
    // What routes for the name, or runs under it, tells that the Service should be there.
    let meant = leftover(mesh, &full, &missing);
    let subject = if meant.is_some() {
        Subject::from(missing)
    } else {
        Subject::Request
    };
    let near = nearest(mesh, name, namespace);
    let hint = near
        .as_ref()
        .map_or_else(String::new, |near| format!("; there is {near}"));
    let message =
        format!("there is no Service {namespace}/{name}, so its name has no address{hint}");
    let doc = DocId::new(Kind::Service.path());
    let finding = out.find(
        subject,
        message,
        Evidence::document(&doc, format!("no Service {name} in {namespace}")),
    );
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    if let Some(object) = meant {
        finding.hits(object.id.clone());
        finding.see(Evidence::object(object, "this is meant for it"));
        finding.fix(Fix::advice(format!(
            "make Service {namespace}/{name} again"
        )));
    }
    if let Some(near) = near {
        finding.fix(Fix::advice(format!("call {near}")));
    }
    finding.fix(Fix::advice(format!(
        "call a Service that there is: {}",
        shell::command("kubectl get services -n {}", &[namespace])
    )));
}

/// Name and namespace of the Service that the host would be: `cart.shop` or longer, in a namespace
/// that there is.
fn named<'a>(mesh: &Mesh, case: &'a Case<'_>) -> Option<(&'a str, &'a str)> {
    let is_own_host = authority(case) == case.call.to.host.to_ascii_lowercase();
    if case.service.is_some() || case.client.is_none() || !is_own_host {
        return None;
    }
    let host = case.call.to.host.trim_end_matches('.');
    let short = || {
        host.strip_suffix(".svc")
            .unwrap_or(host)
            .split_once('.')
            .filter(|(_, rest)| !rest.contains('.'))
    };
    let (name, namespace) = mesh.domain.service_name(host).or_else(short)?;
    mesh.objects
        .get(Kind::Namespace, "", namespace)
        .map(|_| (name, namespace))
}

/// An object that is for the name: a workload that is called so, or what routes its requests.
fn leftover<'m>(mesh: &'m Mesh, full: &str, missing: &ObjectRef) -> Option<&'m Object> {
    let mut kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet].into_iter();
    let workload = kinds.find_map(|kind| mesh.objects.get(kind, &missing.namespace, &missing.name));
    let rule = || {
        mesh.objects
            .of_kind(Kind::DestinationRule)
            .iter()
            .find(|rule| {
                let host = rule
                    .spec_at(["host"])
                    .and_then(meshladder_text::tree::Node::str)
                    .unwrap_or_default();
                mesh.domain.fqdn(host, &rule.id.namespace) == full
            })
    };
    let routes = || {
        mesh.objects
            .of_kind(Kind::VirtualService)
            .iter()
            .find(|vs| hosts(vs, &mesh.domain).any(|(_, host)| host == full))
    };
    workload.or_else(routes).or_else(rule)
}

/// A Service of the same name in another namespace, or of nearly that name in this one.
fn nearest(mesh: &Mesh, name: &str, namespace: &str) -> Option<String> {
    let elsewhere = mesh.services.iter().find(|service| service.name == name);
    let in_here = mesh
        .services
        .iter()
        .filter(|service| service.namespace == namespace);
    let alike = || {
        in_here
            .into_iter()
            .find(|service| service.name.starts_with(name) || name.starts_with(&service.name))
    };
    elsewhere
        .or_else(alike)
        .map(|service| format!("{}.{}", service.name, service.namespace))
}
