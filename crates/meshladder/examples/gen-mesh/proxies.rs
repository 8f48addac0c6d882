//! What the proxies and istiod say.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::indent::Indent;
use crate::mesh::{Services, TEAMS};
use crate::pods::{self, Pod};
use crate::{clusters, config_dump};

/// What the templates call their proxy.
const MODEL: (&str, &str, &str) = ("10.244.1.36", "frontend-5b64d475cf-cwr6l", "shop");

pub(crate) fn write(out: &Path, services: usize, proxies: usize) -> io::Result<()> {
    let all = pods::all(services);
    let pods = &all[..proxies.min(all.len())];
    for team in 0..TEAMS {
        let known = Services {
            count: services,
            team: Some(team),
        };
        let dump = text(|out| config_dump::write(out, known, 0))?;
        let statuses = text(|out| clusters::write(out, known))?;
        for pod in pods.iter().filter(|pod| pod.team == team) {
            let folder = out.join(format!("proxies/{}/{}", pod.namespace, pod.name));
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("config_dump.json"), renamed(&dump, pod))?;
            std::fs::write(folder.join("clusters.json"), &statuses)?;
            std::fs::write(folder.join("stats.txt"), stats(services))?;
        }
    }
    syncz(out, &all)
}

fn text(write: impl FnOnce(&mut Indent<Vec<u8>>) -> io::Result<()>) -> io::Result<String> {
    let mut out = Indent::new(Vec::new());
    write(&mut out)?;
    out.finish()
        .map(|bytes| String::from_utf8(bytes).expect("templates are text"))
}

/// The bootstrap is at the start of a dump.
fn renamed(dump: &str, pod: &Pod) -> String {
    let node = |ip: &str, name: &str, namespace: &str| {
        format!("sidecar~{ip}~{name}.{namespace}~{namespace}.")
    };
    dump.replacen(
        &node(MODEL.0, MODEL.1, MODEL.2),
        &node(&pod.ip, &pod.name, &pod.namespace),
        1,
    )
}

/// A proxy keeps statistics of few clusters unless it is told otherwise.
fn stats(services: usize) -> String {
    let counters = (0..services / 10).map(|at| format!("cluster.xds-grpc;.counter_{at}: {at}\n"));
    std::iter::once("control_plane.connected_state: 1\n".to_owned())
        .chain(counters)
        .collect()
}

fn syncz(out: &Path, pods: &[Pod]) -> io::Result<()> {
    let folder = out.join("istiod/istiod-5d8f7c9b6d-00000/debug");
    std::fs::create_dir_all(&folder)?;
    let mut file = BufWriter::new(std::fs::File::create(folder.join("syncz.json"))?);
    let streams: Vec<Value> = pods.iter().map(stream).collect();
    serde_json::to_writer(&mut file, &streams)?;
    file.flush()
}

fn stream(pod: &Pod) -> Value {
    const NONCE: &str = "2026-11-15T06:40:11Z/703a8f0b-703a-408b-a2e2-592b2682b54f";
    let watch =
        || json!({"sent": NONCE, "acked": NONCE, "sentTime": "2026-11-15T06:40:11.266902716Z"});
    let resources: serde_json::Map<String, Value> = [
        "cluster.v3.Cluster",
        "listener.v3.Listener",
        "route.v3.RouteConfiguration",
        "endpoint.v3.ClusterLoadAssignment",
    ]
    .into_iter()
    .map(|kind| (format!("type.googleapis.com/envoy.config.{kind}"), watch()))
    .collect();
    json!({"cluster_id": "Kubernetes", "proxy": format!("{}.{}", pod.name, pod.namespace), "proxy_type": "sidecar", "istio_version": "1.30.0", "resources": resources})
}
