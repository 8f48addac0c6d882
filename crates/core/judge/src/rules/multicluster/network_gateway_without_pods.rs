//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::services::is_ready;
use meshladder_mesh::views::{PodTemplate, Service};
use meshladder_mesh::{Cluster, Object};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1217",
    name: "network-gateway-without-pods",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a pod is ready behind the gateway of every network",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Namespace, Kind::Deployment]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Secret, Kind::DaemonSet]).and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("network_gateway_without_pods.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let gateways = pair.gateways();
        let Some(first) = gateways.first() else {
            continue;
        };
        out.examined();
        let is_served = gateways.iter().any(|gateway| {
            let pods = pair.to.mesh.running_pods_of(gateway.service);
            pods.into_iter().any(is_ready)
        });
        if !is_served {
            report(crossing, &pair, first.service, out);
        }
    }
}

fn report(crossing: &Crossing<'_>, pair: &Pair<'_>, service: Service<'_>, out: &mut Sink) {
    let to = pair.to;
    let comes_of_it = format!(
        "so nothing answers callers in {} at the gateway of {}",
        pair.from.name, to.name
    );
    let Some(workload) = workload_of(to, service) else {
        let id = service.id();
        let message = format!("{id} selects no pod, {comes_of_it}");
        let node = service.selector().unwrap_or(&service.object.node);
        let proof = joint::of(to, Evidence::of(service.object, node, "what it selects"));
        crossing
            .find(out, to, id.clone(), message, proof)
            .fix(Fix::look(shell::command(
                "kubectl get pods -n {} --show-labels",
                &[&id.namespace],
            )));
        return;
    };
    let id = &workload.id;
    let message = format!("no pod of {id} is ready, {comes_of_it}");
    let node = workload.spec_at(["replicas"]).unwrap_or(&workload.node);
    let proof = joint::of(
        to,
        Evidence::of(workload, node, "how many pods it is to have"),
    );
    let finding = crossing.find(out, to, id.clone(), message, proof);
    if let Some(status) = workload.node.get("status") {
        let shows = "how many it has";
        finding.see(joint::of(to, Evidence::of(workload, status, shows)));
    }
    finding.fix(Fix::look(shell::command(
        "kubectl describe {} {} -n {}",
        &[&id.kind.to_lowercase(), &id.name, &id.namespace],
    )));
}

/// The workload whose pods a Service selects.
fn workload_of<'m>(cluster: &'m Cluster, service: Service<'m>) -> Option<&'m Object> {
    let selector = service.selector()?;
    let objects = &cluster.mesh.objects;
    let kinds = [Kind::Deployment, Kind::DaemonSet].into_iter();
    let mut all = kinds.flat_map(|kind| objects.in_namespace(kind, service.namespace()));
    all.find(|workload| {
        PodTemplate::of(workload).is_some_and(|template| has_labels(selector, template.labels()))
    })
}
