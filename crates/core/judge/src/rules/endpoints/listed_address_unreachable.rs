//! See the page beside this file.

use super::{called_service, slices};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::services::Endpoint;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0725",
    name: "listed-address-unreachable",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the addresses that somebody listed for a Service take connections",
    needs: Inputs::of(&[Kind::Service, Kind::EndpointSlice]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML10"],
    docs: include_str!("listed_address_unreachable.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(line) = accounts::unconnected(case) else {
        return;
    };
    let Some(cluster) = ClusterName::parse(&line.cluster) else {
        return;
    };
    let is_service = |owner: &&Object| owner.id.is(Kind::Service);
    let Some(service) = called_service::owner(facts, case, cluster.host).filter(is_service) else {
        return;
    };
    let address = line
        .upstream_host
        .rsplit_once(':')
        .map_or("", |(address, _)| address.trim_matches(['[', ']']));
    let listed = facts.mesh.endpoints(service);
    let is_by_hand = |endpoint: &&Endpoint<'_>| {
        let is_pods = slices::has_pod(facts.mesh, endpoint.address);
        called_service::selector(service).is_none()
            || !(is_of_controller(endpoint.slice) || is_pods)
    };
    let found = listed.iter().find(|endpoint| endpoint.address == address);
    let Some(endpoint) = found.filter(is_by_hand) else {
        return;
    };
    let subject = lister(endpoint.slice);
    let message = format!(
        "connections to {}, which {subject} lists for {}, are not answered",
        line.upstream_host, service.id
    );
    let finding = out.find(subject, message, shown(endpoint));
    finding.see(accounts::line_shows(line));
    finding.hits(service.id.clone());
    // Whether the address is wrong or its owner is away, no document tells.
    finding.confidence(Confidence::Likely);
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(format!(
        "list the address and port at which {} is served",
        service.id
    )));
    finding.fix(Fix::look(shell::command(
        "kubectl get endpointslices -n {} -l kubernetes.io/service-name={} -o yaml",
        &[&service.id.namespace, &service.id.name],
    )));
}

/// The object that somebody wrote the address into: "The mirroring controller … copies Endpoints to
/// EndpointSlices".
fn lister(slice: &Object) -> ObjectRef {
    let owners = slice
        .node
        .at(["metadata", "ownerReferences"])
        .map_or(&[][..], Node::items);
    let endpoints = owners
        .iter()
        .find(|owner| owner.str_at("kind") == Some("Endpoints"));
    match endpoints.and_then(|owner| owner.str_at("name")) {
        Some(name) => ObjectRef::new("Endpoints", &slice.id.namespace, name),
        None => slice.id.clone(),
    }
}

/// Whether Kubernetes keeps the slice by the Service's selector.
fn is_of_controller(slice: &Object) -> bool {
    slice
        .label("endpointslice.kubernetes.io/managed-by")
        .is_some_and(|keeper| keeper.starts_with("endpointslice-controller"))
}

fn shown(endpoint: &Endpoint<'_>) -> Evidence {
    let at = endpoint.node.get("addresses").unwrap_or(endpoint.node);
    Evidence::of(endpoint.slice, at, "the address")
}
