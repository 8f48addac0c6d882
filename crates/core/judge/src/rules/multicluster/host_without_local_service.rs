//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ObjectRef;
use meshladder_sim::walk::Caller;

pub(super) static RULE: Rule = Rule {
    code: "ML1212",
    name: "host-without-local-service",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a host of another cluster has a Service in the caller's cluster too",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::Namespace, Kind::Pod]),
    explains: &["ML06", "ML07", "ML10"],
    docs: include_str!("host_without_local_service.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let Some(request) = &crossing.request else {
        return;
    };
    let home = request.home;
    let namespace = match &request.call.from {
        Caller::Pod { namespace, .. } => namespace.as_str(),
        Caller::Outside | Caller::Somebody => return,
    };
    out.examined();
    let host = request
        .call
        .to
        .host
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let is_named = home.mesh.resolve(&host, namespace).address.is_some();
    if is_named || request.service_in(home).is_some() || host.parse::<std::net::IpAddr>().is_ok() {
        return;
    }
    for other in crossing.clusters.others(home) {
        let Some(service) = request.service_in(other) else {
            continue;
        };
        let id = ObjectRef::of(Kind::Service, service.namespace(), service.name());
        let message = format!(
            "{} has no {id}, so the name {host} has no address there; that {} has one does not help, since DNS is the caller's own cluster's",
            home.name, other.name
        );
        let proof = joint::list_of(home, Kind::Service, format!("no {id}"));
        let shows = format!("the Service of {}", other.name);
        let object = Evidence::object(service.object, shows);
        crossing
            .find(out, home, id.clone(), message, proof)
            .see(joint::of(other, object))
            .fix(Fix::advice(format!(
                "create {id} in {} with the ports that {} has; it needs no pods there",
                home.name, other.name
            )));
        return;
    }
}
