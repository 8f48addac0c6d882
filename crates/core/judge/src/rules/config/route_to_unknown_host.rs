//! See the page beside this file.

use super::clients::Clients;
use super::nearest::nearest_service;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::traffic::{Destination, destinations};
use meshladder_mesh::{Mesh, Object};
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
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Sidecar]),
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
    let message = format!("{} routes to host {}: {why}", service.id, to.host);
    let at = to.node.get("host").unwrap_or(to.node);
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, at, "the host it routes to"),
    );
    if scopes.is_empty() {
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
    }
    if let Some(meant) = meant {
        finding.fix(patch::replace(service, at, &meant));
    }
    finding.fix(Fix::advice(
        "write the full name of a Service that exists, or create a ServiceEntry for the host",
    ));
}
