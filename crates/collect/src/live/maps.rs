//! ConfigMaps: Istio's own by name, never all of them.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Coverage;
use serde_json::json;

use super::api::{Cluster, JSON};
use super::kinds;
use super::lack::Lack;
use super::list::{METADATA, PAGE, escaped, items, no_space};
use super::pods::PodNote;
use super::spool::Spool;
use crate::source_file::Body;

/// Istio's ConfigMaps of the namespaces that istiods run in, and how much of them that is.
pub(crate) async fn read(
    cluster: &Cluster,
    pods: &[PodNote],
    istio_namespace: &str,
) -> (Option<Body>, Coverage) {
    let istiods = || pods.iter().filter(|pod| pod.is_istiod);
    let mut namespaces: BTreeSet<&str> = istiods().map(|pod| pod.namespace.as_str()).collect();
    namespaces.insert(istio_namespace);
    let revisions: BTreeSet<&str> = istiods().map(|pod| pod.revision.as_str()).collect();
    let mut spool = Spool::default();
    let mut coverage = Coverage::Complete;
    for namespace in namespaces {
        if let Err(lack) = read_in(cluster, namespace, &revisions, &mut spool).await {
            coverage = lack.coverage();
        }
    }
    match (spool.count(), &coverage) {
        (0, Coverage::Denied(_) | Coverage::Partial(_) | Coverage::Lost(_)) => (None, coverage),
        (_, Coverage::Denied(why)) => (spool.finish().ok(), Coverage::Partial(why.clone())),
        _ => (spool.finish().ok(), coverage),
    }
}

async fn read_in(
    cluster: &Cluster,
    namespace: &str,
    revisions: &BTreeSet<&str>,
    spool: &mut Spool,
) -> Result<(), Lack> {
    let path = kinds::path(Kind::ConfigMap, "v1", Some(namespace));
    let (names, listed) = match names(cluster, &path).await {
        Ok(names) => (names, true),
        // Who may get one by its name need not be allowed to list them.
        Err(Lack::Refused(_)) => (usual(revisions), false),
        Err(Lack::Absent) => return Ok(()),
        Err(lack) => return Err(lack),
    };
    for name in &names {
        match cluster.get_json(&format!("{path}/{name}"), JSON).await {
            Ok(mut map) => {
                (map["apiVersion"], map["kind"]) = (json!("v1"), json!(Kind::ConfigMap.singular()));
                if let Some(metadata) = map["metadata"].as_object_mut() {
                    metadata.remove("managedFields");
                }
                spool.push(&map).map_err(|error| no_space(&error))?;
            }
            Err(Lack::Absent) => {}
            Err(Lack::Refused(_)) => {
                let verb = if listed { "get" } else { "get or list" };
                return Err(Lack::Refused(format!(
                    "no right to {verb} configmaps in namespace {namespace}"
                )));
            }
            Err(lack) => return Err(lack),
        }
    }
    Ok(())
}

/// The names of Istio's own, page by page.
async fn names(cluster: &Cluster, path: &str) -> Result<Vec<String>, Lack> {
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let list = cluster
            .get_json(&format!("{path}?limit={PAGE}{token}"), METADATA)
            .await?;
        let all = items(&list)?
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str());
        names.extend(all.filter(|name| is_istios(name)).map(str::to_owned));
        match list["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() => token = format!("&continue={}", escaped(next)),
            _ => return Ok(names),
        }
    }
}

fn is_istios(name: &str) -> bool {
    name == "istio" || name.starts_with("istio-")
}

/// `istio` and `istio-sidecar-injector`, and those of a revision.
fn usual(revisions: &BTreeSet<&str>) -> Vec<String> {
    let of = |revision: &&str| {
        ["istio", "istio-sidecar-injector"].map(|name| format!("{name}-{revision}"))
    };
    let plain = ["istio", "istio-sidecar-injector"].map(str::to_owned);
    plain
        .into_iter()
        .chain(
            revisions
                .iter()
                .filter(|revision| **revision != "default")
                .flat_map(of),
        )
        .collect()
}
