//! See the page beside this file.

use super::clients::Clients;
use super::nearest::nearest_service;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::export::hider;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::traffic::{Destination, destinations};
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0505",
    name: "route-to-unknown-host",
    aka: &["IST0101", "KIA1101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every host that a VirtualService routes to is one that its clients know",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[
        Kind::Gateway,
        Kind::Pod,
        Kind::Sidecar,
        Kind::ConfigMap,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML0504", "ML0506", "ML06", "ML07"],
    docs: include_str!("route_to_unknown_host.md"),
    check: Check::Lens(check, objects::ALONE),
};

/// Names of Services in several clusters at once are kept by no object of this one.
const OF_SEVERAL_CLUSTERS: &str = ".svc.clusterset.local";

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        let to = destinations(service, &facts.mesh.domain);
        let scopes = match case {
            Some(case) if to.iter().any(|to| meets(facts, case, service, to)) => {
                met::scope(facts, case).into_iter().collect()
            }
            Some(_) => continue,
            None => clients.of_virtual_service(service),
        };
        for to in to
            .iter()
            .filter(|to| !to.host.ends_with(OF_SEVERAL_CLUSTERS))
        {
            if case.is_none_or(|case| meets(facts, case, service, to)) {
                out.examined();
                judge(facts.mesh, service, to, &scopes, out);
            }
        }
    }
}

fn meets(facts: &Facts<'_>, case: &Case<'_>, service: &Object, to: &Destination<'_>) -> bool {
    let is_seen = met::scope(facts, case)
        .is_none_or(|scope| facts.mesh.is_exported_to(service, scope.namespace));
    let is_delegate = service.spec_list("hosts").is_empty();
    is_seen
        && (is_delegate || met::is_for_host(facts, service, &met::authority(case)))
        && met::clusters(case).any(|cluster| cluster.host == to.host)
}

fn judge(
    mesh: &Mesh,
    service: &Object,
    to: &Destination<'_>,
    scopes: &[Scope<'_>],
    out: &mut Sink,
) {
    let owner = mesh.registered(&to.host).next();
    let is_visible = |scope: &Scope<'_>| {
        mesh.registered(&to.host)
            .any(|o| mesh.is_exported_to(o, scope.namespace))
    };
    // Hidden from some of the clients is their affair: they may never call it.
    if owner.is_some() && (scopes.is_empty() || scopes.iter().any(is_visible)) {
        return;
    }
    let meant = nearest_service(mesh, &to.host).filter(|_| owner.is_none());
    let why = match (&owner, &meant) {
        (Some(owner), _) => format!("{} is not exported to any of its clients", owner.id),
        (None, Some(meant)) => format!("no Service or ServiceEntry has that name; {meant} is one"),
        (None, None) => "no Service or ServiceEntry has that name".to_owned(),
    };
    let gone = gone_service(mesh, to).filter(|_| meant.is_none() && owner.is_none());
    let message = match &gone {
        Some((gone, workload)) => format!(
            "{} routes to host {}: there is no {gone}, though {} is there and no Service takes its pods",
            service.id, to.host, workload.id
        ),
        None => format!("{} routes to host {}: {why}", service.id, to.host),
    };
    let at = to.node.get("host").unwrap_or(to.node);
    // The route is right where what it leads to was taken away, or hidden.
    let subject = match (&gone, owner) {
        (Some((gone, _)), _) => gone.clone(),
        (None, Some(owner)) => hider(mesh, owner).0.id.clone(),
        (None, None) => service.id.clone(),
    };
    let finding = out.find(
        subject,
        message,
        Evidence::of(service, at, "the host it routes to"),
    );
    if let Some((_, workload)) = gone {
        finding.see(Evidence::object(workload, "whom the Service was for"));
        finding.fix(Fix::advice("make the Service again"));
    }
    // Nobody waits for what a mirror would answer.
    if scopes.is_empty() || service.path_of(to.node).contains("/mirror") {
        finding.severity(Severity::Info);
    }
    for host in service.spec_list("hosts").iter().filter_map(Node::str) {
        let own = mesh.service_of_host(&mesh.domain.fqdn(host, &service.id.namespace));
        if let Some(own) = own {
            finding.hits(own.id.clone());
        }
    }
    if let Some(owner) = owner {
        finding.see(Evidence::object(owner, "what has the name"));
        let (hider, node) = hider(mesh, owner);
        finding.see(Evidence::of(hider, node, "where it is exported to"));
    }
    if let Some(meant) = meant {
        finding.fix(patch::replace(service, at, &meant));
    }
    finding.fix(Fix::advice(
        "write the full name of a Service that exists, or create a ServiceEntry for the host",
    ));
}

/// The Service that a destination would be and that is not there, with the workload that it was
/// for: one of that name, or with that label `app`, whose pods no Service takes.
fn gone_service<'m>(mesh: &'m Mesh, to: &Destination<'_>) -> Option<(ObjectRef, &'m Object)> {
    let (name, namespace) = mesh.domain.service_name(&to.host)?;
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet].into_iter();
    let mut workloads = kinds.flat_map(|kind| mesh.objects.in_namespace(kind, namespace));
    let workload = workloads.find(|workload| {
        let labels = called_service::template_labels(workload);
        let app = labels.and_then(|labels| labels.str_at("app"));
        (workload.id.name == name || app == Some(name))
            && mesh.services_selecting(namespace, labels).is_empty()
    })?;
    Some((ObjectRef::of(Kind::Service, namespace, name), workload))
}
