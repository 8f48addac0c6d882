//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::{MeshNetworks, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3502",
    name: "network-of-unknown-registry",
    aka: &["IST0126"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every network of the mesh names a registry that there is",
    needs: Inputs::of(&[Kind::Secret]),
    uses: Inputs::of(&[Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("network_of_unknown_registry.md"),
    check: Check::Object(check),
};

/// The label of the Secrets that hold the kubeconfigs of other clusters, by name.
const OTHER_CLUSTERS: &str = "istio/multiCluster";

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let Some(networks) = &facts.mesh.config.networks else {
        return;
    };
    let mut known = BTreeSet::from(["Mock", "Kubernetes", "External"]);
    known.extend(facts.mesh.clusters.keys().map(String::as_str));
    for secret in facts
        .mesh
        .objects
        .of_kind(Kind::Secret)
        .iter()
        .filter(|secret| secret.label(OTHER_CLUSTERS) == Some("true"))
    {
        let parts = ["data", "stringData"]
            .into_iter()
            .filter_map(|part| secret.node.get(part));
        known.extend(parts.flat_map(Node::members).map(|member| &*member.key));
    }
    for network in networks.tree.get("networks").map_or(&[][..], Node::members) {
        for endpoint in list(&network.value, "endpoints") {
            let Some(registry) = endpoint.str_at("fromRegistry") else {
                continue;
            };
            out.examined();
            if !known.contains(registry) {
                let message = format!(
                    "network {} has the endpoints of registry {registry}, and no cluster of that name is known",
                    network.key
                );
                tell(facts, networks, message, out);
            }
        }
    }
}

fn tell(facts: &Facts<'_>, networks: &MeshNetworks, message: String, out: &mut Sink) {
    let root = &*facts.mesh.config.root_namespace;
    let map = networks
        .of
        .as_ref()
        .and_then(|id| facts.mesh.objects.find(id));
    let text = map.and_then(|map| Some((map, map.node.at(["data", "meshNetworks"])?)));
    let (subject, proof) = if let Some((map, text)) = text {
        (map.id.clone(), Evidence::of(map, text, "the networks"))
    } else {
        let doc = DocId::new("k8s/meshnetworks.yaml");
        (
            ObjectRef::new("MeshNetworks", root, "meshnetworks"),
            Evidence::document(&doc, "the networks"),
        )
    };
    out.find(subject, message, proof).fix(Fix::advice(
        "name a cluster that a Secret labelled istio/multiCluster=true holds, or Kubernetes",
    ));
}
