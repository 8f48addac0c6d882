//! See the page beside this file.

use super::joint::{self, Pair};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::istiod::endpoint_shardz::{self, Shard};
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Cluster;
use meshladder_mesh::Object;
use meshladder_mesh::selector::accepts;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1219",
    name: "remote-endpoints-unknown",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "an istiod that has read another cluster has its endpoints",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]).and(&[Part::Istiod]),
    uses: Inputs::of(&[Kind::Namespace, Kind::ConfigMap, Kind::Secret]),
    explains: &["ML07", "ML10"],
    docs: include_str!("remote_endpoints_unknown.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for (pair, service) in joint::starved_pairs(crossing) {
        let (from, to) = (pair.from, pair.to);
        let is_read = joint::watched(from).is_some_and(|(_, clusters)| {
            clusters
                .iter()
                .any(|known| known.id == to.id && known.is_synced())
        });
        let host = from
            .mesh
            .domain
            .service(service.name(), service.namespace());
        let told = joint::told(from, "/endpointShardz.json", |text| {
            endpoint_shardz::read(text, &to.id).ok()
        });
        let (true, Some((doc, shards))) = (is_read, told) else {
            continue;
        };
        out.examined();
        if shards.iter().any(|shard| shard.host == host) {
            continue;
        }
        let proof = joint::of(
            from,
            Evidence::document(
                &doc,
                format!(
                    "istiod in {} has no endpoint of {host} in {}",
                    from.name, to.name
                ),
            ),
        );
        report(crossing, &pair, &host, &shards, proof, out);
    }
}

fn report(
    crossing: &Crossing<'_>,
    pair: &Pair<'_>,
    host: &str,
    shards: &[Shard],
    proof: Evidence,
    out: &mut Sink,
) {
    let (from, to) = (pair.from, pair.to);
    let state = format!(
        "istiod in {} has read cluster {} and has no endpoint of {host} there",
        from.name, to.name
    );
    if let Some(namespace) = undiscovered(from, to, host) {
        let message = format!(
            "{state}: discoverySelectors in {} do not accept {} of {}",
            from.name, namespace.id, to.name
        );
        let node = namespace.labels().unwrap_or(&namespace.node);
        let labels = joint::of(to, Evidence::of(namespace, node, "its labels"));
        crossing
            .find(out, to, namespace.id.clone(), message, labels)
            .see(proof)
            .fix(Fix::advice(
                "give the namespace the labels that discoverySelectors ask for",
            ));
        return;
    }
    let is_theirs = |address: &String| {
        let ip = address.parse().ok();
        ip.is_some_and(|ip| to.mesh.pod_at(ip).is_some())
    };
    if shards
        .iter()
        .flat_map(|shard| &shard.addresses)
        .any(is_theirs)
    {
        return;
    }
    let secret = joint::remote_secrets(from)
        .into_iter()
        .find(|secret| secret.ids.contains(&to.id.as_str()));
    let Some(secret) = secret else {
        return;
    };
    let message = format!(
        "{state}, nor any other pod of it: {} leads to another cluster than {}",
        secret.object.id, to.name
    );
    crossing
        .find(out, from, secret.object.id.clone(), message, proof)
        .confidence(Confidence::Likely)
        .fix(Fix::command(
            crate::finding::Risk::Reversible,
            shell::command("istioctl create-remote-secret --context {} --name {} | kubectl apply --context {} -f -", &[&to.name, &to.id, &from.name]),
        ));
}

/// The namespace of a host that the caller's istiod leaves out of what it reads.
fn undiscovered<'m>(from: &Cluster, to: &'m Cluster, host: &str) -> Option<&'m Object> {
    let config = from.mesh.config.tree.as_ref()?;
    let selectors = config.items_at("discoverySelectors");
    let (_, namespace) = to.mesh.domain.service_name(host)?;
    let namespace = to.mesh.objects.get(Kind::Namespace, "", namespace)?;
    let is_left_out = !selectors.is_empty()
        && !selectors
            .iter()
            .any(|selector| accepts(selector, namespace.labels()));
    is_left_out.then_some(namespace)
}
