//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Risk, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{ObjectRef, PodFacts};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0204",
    name: "endpoints-lost",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "istiod sends proxies the endpoints that the cluster has",
    needs: Inputs::of(&[Kind::Service, Kind::EndpointSlice]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::Deployment]),
    explains: &["ML07"],
    docs: include_str!("endpoints_lost.md"),
    check: Check::Proxy(check),
};

/// One Service without endpoints has a cause of its own; half of them at once have a common one.
fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    const FEWEST: usize = 3;
    let Some(document) = proxy.docs.clusters.as_ref() else {
        return;
    };
    let Ok(root) = meshladder_text::json::Raw::of(&document.text) else {
        return;
    };
    let (mut empty, mut full) = (Vec::new(), 0);
    for cluster in root.list("cluster_statuses") {
        let Some(name) = cluster.string_at("name") else {
            continue;
        };
        let Some(parts) = ClusterName::parse(&name).filter(|parts| parts.direction == "outbound")
        else {
            continue;
        };
        if !parts.subset.is_empty() || !has_ready(facts, parts.host) {
            continue;
        }
        out.examined();
        match cluster.list("host_statuses").next() {
            Some(_) => full += 1,
            None => empty.push((name.into_owned(), cluster.offset())),
        }
    }
    if empty.len() < FEWEST || empty.len() <= full {
        return;
    }
    let (namespace, name) = (&proxy.docs.id.namespace, &proxy.docs.id.pod);
    let message = format!(
        "{namespace}/{name} has no endpoint for {} of {} Services that have ready pods: istiod sent it an empty registry",
        empty.len(),
        empty.len() + full
    );
    let proof = Evidence::offset(
        &document.id,
        empty[0].1,
        format!("{} has no host", empty[0].0),
    );
    let istiod = istiod(facts);
    let finding = out.find(istiod.clone(), message, proof);
    finding
        .confidence(Confidence::Likely)
        .hits(ObjectRef::of(Kind::Pod, namespace, name));
    let restart = shell::command(
        "kubectl rollout restart deployment/{} -n {}",
        &[&istiod.name, &istiod.namespace],
    );
    finding.fix(Fix::command(Risk::Disruptive, restart));
}

fn has_ready(facts: &Facts<'_>, host: &str) -> bool {
    let service = facts.mesh.service_of_host(host);
    service.is_some_and(|service| {
        let selects = service
            .spec_at(["selector"])
            .is_some_and(|selector: &Node| !selector.members().is_empty());
        selects
            && facts
                .mesh
                .endpoints(service)
                .iter()
                .any(|endpoint| endpoint.is_ready)
    })
}

fn istiod(facts: &Facts<'_>) -> ObjectRef {
    let pod = facts
        .mesh
        .istiods(None)
        .into_iter()
        .find_map(|pod| facts.mesh.pod(&pod.id.namespace, &pod.id.name));
    pod.map_or_else(
        || {
            ObjectRef::of(
                Kind::Deployment,
                &facts.mesh.config.root_namespace,
                "istiod",
            )
        },
        PodFacts::workload,
    )
}
