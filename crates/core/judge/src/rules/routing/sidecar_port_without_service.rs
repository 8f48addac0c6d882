//! See the page beside this file.

use super::effect::sidecar;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::services::{number, ports};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0617",
    name: "sidecar-port-without-service",
    aka: &["KIA1004"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every egress listener of a Sidecar with a port has a Service on that port",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML0612", "ML0614", "ML0615", "ML07", "ML10"],
    docs: include_str!("sidecar_port_without_service.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let client = case.and_then(|case| sidecar(mesh, case));
    for object in mesh.objects.of_kind(Kind::Sidecar) {
        let own = client.and_then(|client| mesh.scope(client).sidecar);
        if case.is_some() && own.is_none_or(|own| own.id != object.id) {
            continue;
        }
        if let Some(case) = case.filter(|case| is_on_no_port(mesh, object, case)) {
            out.examined();
            find_none(object, case, out);
            continue;
        }
        for (place, listener) in object.spec_list("egress").iter().enumerate() {
            let Some(port) = listener.at(["port", "number"]).and_then(number) else {
                continue;
            };
            if case.is_some_and(|case| case.call.to.port != port) {
                continue;
            }
            out.examined();
            let wanted = case.map(|case| case.host.as_str());
            if !is_served(mesh, object, listener, port, wanted) {
                find(object, place, listener, port, case, out);
            }
        }
    }
}

fn find(
    object: &Object,
    place: usize,
    listener: &Node,
    port: u16,
    case: Option<&Case<'_>>,
    out: &mut Sink,
) {
    let message = match case {
        Some(case) => {
            format!(
                "{} has a listener of its own for port {port}, which does not import {}",
                object.id, case.host
            )
        }
        None => format!(
            "{} has a listener for port {port}, and nothing that it imports has that port",
            object.id
        ),
    };
    let node = listener.get("port").unwrap_or(listener);
    let finding = out.find(
        object.id.clone(),
        message,
        Evidence::of(object, node, "only for this port"),
    );
    if let Some(hosts) = listener.get("hosts") {
        finding.see(Evidence::of(
            object,
            hosts,
            "all that it imports on this port",
        ));
    }
    finding.hits.extend(
        case.and_then(|case| case.client)
            .map(meshladder_mesh::PodFacts::reference),
    );
    if case.is_some_and(|case| case.seen.is_some_and(|seen| !seen.is_success())) {
        finding.severity(Severity::Error);
    }
    let remove = vec![Op::remove(format!("/spec/egress/{place}"))];
    finding.fix(Fix::patch(&object.id, remove));
    finding.fix(Fix::advice("or import the Services that have the port"));
}

/// Whether every listener has a port, none has the one that is called, and one would import the
/// host.
fn is_on_no_port(mesh: &Mesh, object: &Object, case: &Case<'_>) -> bool {
    let scope = Scope {
        namespace: &object.id.namespace,
        labels: None,
        sidecar: Some(object),
    };
    let listeners = object.spec_list("egress");
    let called = case.call.to.port;
    let other = |listener: &Node| {
        listener
            .at(["port", "number"])
            .and_then(number)
            .is_some_and(|port| port != called && port != 0)
    };
    let namespace = case.service.map(|service| service.namespace.as_str());
    let takes = |listener: &Node| {
        let hosts = listener.get("hosts").map_or(&[][..], Node::items);
        namespace.is_some_and(|namespace| {
            hosts
                .iter()
                .any(|host| scope.entry_takes(host, namespace, &case.host))
        })
    };
    let fails = case.seen.is_none_or(|seen| !seen.is_success());
    fails
        && !listeners.is_empty()
        && listeners.iter().all(other)
        && listeners.iter().any(takes)
        && mesh.registered(&case.host).next().is_some()
}

fn find_none(object: &Object, case: &Case<'_>, out: &mut Sink) {
    let (host, called) = (&case.host, case.call.to.port);
    let message = format!(
        "{} has listeners for certain ports only, and none for {called}: calls to {host}:{called} are not known there",
        object.id
    );
    let egress = object.spec_at(["egress"]).unwrap_or(&object.node);
    let finding = out.find(
        object.id.clone(),
        message,
        Evidence::of(object, egress, "a port for each"),
    );
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.severity(Severity::Error);
    let ports: Vec<Op> = (0..object.spec_list("egress").len())
        .map(|place| Op::remove(format!("/spec/egress/{place}/port")))
        .collect();
    finding.fix(Fix::patch(&object.id, ports));
    finding.fix(Fix::advice(format!(
        "or add a listener for port {called} that imports the host"
    )));
}

/// Whether a listener imports a Service or ServiceEntry with its port: any, or the one that is
/// called.
fn is_served(
    mesh: &Mesh,
    object: &Object,
    listener: &Node,
    port: u16,
    wanted: Option<&str>,
) -> bool {
    let scope = Scope {
        namespace: &object.id.namespace,
        labels: None,
        sidecar: Some(object),
    };
    let hosts = listener.get("hosts").map_or(&[][..], Node::items);
    let takes = |namespace: &str, host: &str| {
        wanted.is_none_or(|wanted| wanted == host || meshladder_mesh::host::covers(host, wanted))
            && hosts
                .iter()
                .any(|entry| scope.entry_takes(entry, namespace, host))
    };
    let service = |service: &Object| {
        let host = mesh.domain.service(&service.id.name, &service.id.namespace);
        ports(service).any(|p| p.number == port) && takes(&service.id.namespace, &host)
    };
    let entry = |entry: &Object| {
        let has_port = entry
            .spec_list("ports")
            .iter()
            .any(|p| p.get("number").and_then(number) == Some(port));
        has_port
            && entry
                .spec_strings("hosts")
                .any(|host| takes(&entry.id.namespace, host))
    };
    // What is in no registry passes a listener no worse than without it.
    let unknown = wanted.is_some_and(|wanted| mesh.registered(wanted).next().is_none());
    unknown
        || mesh.objects.of_kind(Kind::Service).iter().any(service)
        || mesh.objects.of_kind(Kind::ServiceEntry).iter().any(entry)
}
