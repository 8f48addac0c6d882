//! What it costs: bytes of log, and CPU where the cluster measures it.

use std::sync::Mutex;
use std::time::Duration;

use meshladder_capture::envoy::logging::{before, cpu};
use meshladder_capture::snapshot::ProxyRef;
use meshladder_text::time::Time;

use crate::live::api::{Cluster, JSON};
use crate::live::lack::Lack;
use crate::live::pods::PROXY;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Bytes of log a second before.
    pub before: Option<u64>,
    /// Bytes of log while the levels were up.
    pub bytes: u64,
    /// The most bytes of any second.
    pub peak: u64,
    /// How long the levels were up.
    pub time: Duration,
    /// Millicores of the proxy before, or why they are not known.
    pub cpu_before: Option<Result<f64, String>>,
    /// And while the levels were up, when something was measured in that time.
    pub cpu: Option<f64>,
    /// Lines that nobody took in time.
    pub dropped: u64,
}

/// How far back a log is looked at.
const BACK: u64 = 60;

/// And how much of it.
const MOST: usize = 1 << 20;

/// How often CPU is asked for: the usual source measures every 15 s.
const EVERY: Duration = Duration::from_secs(10);

/// Bytes a second that a proxy logs now.
pub(super) async fn rate_before(cluster: &Cluster, pod: &ProxyRef) -> Result<Option<u64>, Lack> {
    let (namespace, name) = (&pod.namespace, &pod.pod);
    let path = format!(
        "/api/v1/namespaces/{namespace}/pods/{name}/log?container={PROXY}&timestamps=true&sinceSeconds={BACK}&limitBytes={MOST}"
    );
    let text = cluster.get(&path, "*/*").await?;
    let is_cut = text.len() >= MOST;
    Ok(before(&String::from_utf8_lossy(&text), BACK, is_cut))
}

/// Millicores of a proxy, and when they were measured.
pub(super) async fn cpu_now(
    cluster: &Cluster,
    pod: &ProxyRef,
) -> Result<(f64, Option<Time>), String> {
    let path = format!(
        "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods/{}",
        pod.namespace, pod.pod
    );
    let told = cluster
        .get_json(&path, JSON)
        .await
        .map_err(|lack| match lack {
            Lack::Absent => "metrics.k8s.io has nothing on it".to_owned(),
            lack => lack.why(),
        })?;
    let mut containers = told["containers"].as_array().into_iter().flatten();
    let usage = containers.find(|container| container["name"] == PROXY);
    let millis = usage.and_then(|usage| cpu(usage["usage"]["cpu"].as_str()?));
    let at = told["timestamp"].as_str().and_then(Time::parse);
    millis
        .map(|millis| (millis, at))
        .ok_or_else(|| "metrics.k8s.io has nothing on its proxy".to_owned())
}

/// Notes CPU now and then, for as long as it is polled; only what was measured after `start`
/// counts.
pub(super) async fn sample(
    cluster: &Cluster,
    pod: &ProxyRef,
    start: Time,
    into: &Mutex<Option<f64>>,
) {
    loop {
        tokio::time::sleep(EVERY).await;
        if let Ok((millis, Some(at))) = cpu_now(cluster, pod).await
            && at > start
            && let Ok(mut most) = into.lock()
        {
            *most = Some(most.map_or(millis, |most| most.max(millis)));
        }
    }
}
