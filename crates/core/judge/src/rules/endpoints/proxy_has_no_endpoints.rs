//! See the page beside this file.

use super::{called_service, slices};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::selector::has_labels;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0708",
    name: "proxy-has-no-endpoints",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the client's proxy has the endpoints that Kubernetes has",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::EndpointSlice]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::DestinationRule, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML10"],
    docs: include_str!("proxy_has_no_endpoints.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    let Some(doc) = called_service::clusters_of(facts, &client.id.namespace, &client.id.name)
    else {
        return;
    };
    let scope = facts.mesh.scope(client);
    for called in called_service::services(facts, Some(case)) {
        let cluster = case.clusters().find(|cluster| {
            ClusterName::parse(cluster)
                .is_some_and(|name| name.host == called.host(facts) && name.subset == called.subset)
        });
        let is_service = facts
            .mesh
            .registry(scope, &called.host(facts))
            .first()
            .is_some_and(|first| first.id == called.service.id);
        let Some((hosts, proof)) = cluster
            .and_then(|cluster| called_service::hosts_of(&doc, cluster))
            .filter(|_| is_service)
        else {
            continue;
        };
        // A headless Service's cluster goes where the client wants, and has no hosts until somebody
        // has called.
        if called
            .service
            .spec_at(["clusterIP"])
            .and_then(meshladder_text::tree::Node::str)
            == Some("None")
        {
            continue;
        }
        out.examined();
        let subset = called.subset_labels(facts, Some(case));
        // A subset that nobody defines has no labels to look for.
        if !hosts.is_empty() || (subset.is_none() && !called.subset.is_empty()) {
            continue;
        }
        let pods = called.pods(facts.mesh, subset);
        let fits = |address: &&slices::Listed<'_>| {
            let is_one = |pod: &&&meshladder_mesh::Object| {
                pod.node
                    .at(["status", "podIP"])
                    .and_then(meshladder_text::tree::Node::str)
                    == Some(address.address)
            };
            address.is_ready
                && subset.is_none_or(|labels| {
                    pods.iter()
                        .find(is_one)
                        .is_some_and(|pod| has_labels(labels, pod.labels()))
                })
        };
        let known = slices::addresses(facts.mesh, called.service, called.port);
        let ready: Vec<_> = known.iter().filter(fits).collect();
        let Some(first) = ready.first() else { continue };
        let message = format!(
            "the proxy of {} has no endpoint for {}, while its EndpointSlices have {}",
            client.id,
            called.service.id,
            called_service::count(ready.len(), "ready endpoint")
        );
        let subject = called_service::workload_ref(facts.mesh, client);
        let finding = out.find(subject, message, proof);
        finding.see(Evidence::object(first.slice, "what Kubernetes has"));
        finding
            .hits(client.id.clone())
            .hits(called.service.id.clone());
        finding.fix(Fix::look(shell::command(
            "meshladder proxy-status {}.{}",
            &[&client.id.name, &client.id.namespace],
        )));
        finding.fix(called_service::restart(facts.mesh, client));
    }
}
