//! The ends of logs.

use super::Logs;
use super::api::Cluster;
use super::lack::Lack;
use super::list::escaped;
use super::pods::PodNote;

/// The container of an istiod.
const DISCOVERY: &str = "discovery";

/// The containers of a pod whose logs are read.
pub(crate) fn containers<'p>(pod: &'p PodNote, logs: &Logs) -> Vec<&'p str> {
    let wanted = |name: &&String| {
        logs.all || **name == pod.proxy || (pod.is_istiod && name.as_str() == DISCOVERY)
    };
    pod.containers
        .iter()
        .filter(wanted)
        .map(String::as_str)
        .collect()
}

/// The end of a container's log.
pub(crate) async fn read(
    cluster: &Cluster,
    pod: &PodNote,
    container: &str,
    logs: &Logs,
) -> Result<Vec<u8>, Lack> {
    let since = logs
        .since
        .map(|since| format!("&sinceSeconds={}", since.as_secs().max(1)))
        .unwrap_or_default();
    let (container, tail, bytes) = (escaped(container), logs.tail, logs.max_bytes);
    let log = format!("/api/v1/namespaces/{}/pods/{}/log", pod.namespace, pod.name);
    let path = format!("{log}?container={container}&tailLines={tail}&limitBytes={bytes}{since}");
    cluster.get(&path, "*/*").await.map_err(|lack| match lack {
        Lack::Refused(_) => Lack::Refused(format!(
            "no right to get pods/log in namespace {}",
            pod.namespace
        )),
        lack => lack,
    })
}
