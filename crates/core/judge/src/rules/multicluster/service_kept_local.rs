//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::host::covers;
use meshladder_mesh::{Cluster, ObjectRef};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML1211",
    name: "service-kept-local",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a Service that MeshConfig keeps local has pods in every cluster that calls it",
    needs: Inputs::of(&[Kind::ConfigMap, Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[Kind::Secret, Kind::Namespace]).and(&[Part::Istiod]),
    explains: &["ML07", "ML10"],
    docs: include_str!("service_kept_local.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for (pair, service) in joint::starved_pairs(crossing) {
        out.examined();
        let from = pair.from;
        let host = from
            .mesh
            .domain
            .service(service.name(), service.namespace());
        let Some(pattern) = local_pattern(from, &host) else {
            continue;
        };
        let id = from.mesh.config.object.clone().unwrap_or_else(|| {
            ObjectRef::of(Kind::ConfigMap, &from.mesh.config.root_namespace, "istio")
        });
        let Some((map, node)) = joint::config_value(from, &id.name, "mesh") else {
            continue;
        };
        let message = format!(
            "the mesh configuration of {} keeps {pattern} local, and {} serves {host}: callers in {} are given no endpoint there",
            from.name, pair.to.name, from.name
        );
        let shows = format!("serviceSettings with clusterLocal for {pattern}");
        let proof = joint::of(from, Evidence::of(map, node, shows));
        crossing
            .find(out, from, id, message, proof)
            .fix(Fix::advice(format!(
                "take {host} out of serviceSettings with clusterLocal: true"
            )));
    }
}

/// The pattern by which a host is kept local. "If multiple settings apply, the most specific
/// wins": a host that is named without it is not.
fn local_pattern(cluster: &Cluster, host: &str) -> Option<String> {
    let config = cluster.mesh.config.tree.as_ref()?;
    let mut best: Option<(&str, bool)> = None;
    for setting in config.items_at("serviceSettings") {
        let is_local = setting
            .at(["settings", "clusterLocal"])
            .is_some_and(|local| local.value == Value::Bool(true));
        for pattern in setting.items_at("hosts").iter().filter_map(Node::str) {
            let is_better = best.is_none_or(|(known, _)| pattern.len() > known.len());
            if covers(pattern, host) && is_better {
                best = Some((pattern, is_local));
            }
        }
    }
    best.filter(|(_, is_local)| *is_local)
        .map(|(pattern, _)| pattern.to_owned())
}
