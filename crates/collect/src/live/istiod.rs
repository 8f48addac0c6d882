//! What istiods say of themselves and of their proxies; every pod of every revision.

use http::Method;

use super::api::Cluster;
use super::door::{Door, MONITORING, Port};
use super::lack::Lack;
use super::list::escaped;
use super::pods::PodNote;
use serde_json::json;

/// The bundle's file for `/version`.
pub(crate) const VERSION: &str = "version.json";

/// What rules read.
const RULES: [&str; 4] = ["syncz", "mesh", "clusterz", "networkz"];

/// What a bundle holds beside it.
const MORE: [&str; 11] = [
    "registryz",
    "endpointShardz",
    "configz",
    "connections",
    "inject",
    "push_status",
    "authorizationz",
    "instancesz",
    "resourcesz",
    "telemetryz",
    "endpointz",
];

/// The documents of an istiod as far as they could be had, and why not all.
#[derive(Debug, Default)]
pub(crate) struct IstiodDocuments {
    pub(crate) documents: Vec<(String, Vec<u8>)>,
    pub(crate) lack: Option<Lack>,
}

/// Asks an istiod; `whole` is everything it tells.
pub(crate) async fn ask(cluster: &Cluster, pod: &PodNote, whole: bool) -> IstiodDocuments {
    let mut told = IstiodDocuments::default();
    let port = Port::istiod(
        &pod.namespace,
        &pod.name,
        pod.monitoring.unwrap_or(MONITORING),
    );
    let mut door = match Door::open(cluster, port).await {
        Ok(door) => door,
        Err(lack) => {
            return IstiodDocuments {
                lack: Some(lack),
                ..told
            };
        }
    };
    for (file, path) in paths(whole) {
        match door.ask(&Method::GET, &path).await {
            Ok(body) if file == VERSION => told.documents.push((file, version(body))),
            Ok(body) => told.documents.push((file, body)),
            // Which endpoints there are depends on the version.
            Err(Lack::Absent) => {}
            Err(lack) => {
                told.lack.get_or_insert(lack);
                if !door.is_open() {
                    break;
                }
            }
        }
    }
    told
}

/// What an istiod would send to one of its proxies now, in the shape of Envoy's dump.
pub(crate) async fn view(cluster: &Cluster, pod: &PodNote, proxy: &str) -> Result<Vec<u8>, Lack> {
    let port = Port::istiod(
        &pod.namespace,
        &pod.name,
        pod.monitoring.unwrap_or(MONITORING),
    );
    let path = format!(
        "/debug/config_dump?proxyID={}&include_eds=true",
        escaped(proxy)
    );
    Door::open(cluster, port)
        .await?
        .ask(&Method::GET, &path)
        .await
}

fn paths(whole: bool) -> Vec<(String, String)> {
    let debug = |name: &&'static str| (format!("debug/{name}.json"), format!("/debug/{name}"));
    let mut paths = vec![(VERSION.to_owned(), "/version".to_owned())];
    paths.extend(RULES.iter().map(debug));
    if whole {
        paths.push(("metrics.txt".to_owned(), "/metrics".to_owned()));
        paths.extend(MORE.iter().map(debug));
    }
    paths
}

/// istiod tells its version as a line of text (`1.30.0-86c9f01-Clean`), and a document of a bundle
/// that is called `.json` is JSON.
fn version(body: Vec<u8>) -> Vec<u8> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok() {
        return body;
    }
    let line = String::from_utf8_lossy(&body);
    json!({"version": line.trim()}).to_string().into_bytes()
}
