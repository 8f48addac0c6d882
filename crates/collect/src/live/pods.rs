//! What is noted of each pod while pods are listed: enough to find proxies and istiods, not the
//! pod.

use serde_json::Value;

/// The container of a sidecar, a gateway, a waypoint and a ztunnel.
pub(crate) const PROXY: &str = "istio-proxy";

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about a pod"
)]
pub(crate) struct PodNote {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// `Deployment`s are known by their ReplicaSet's hash, so this is the name without it.
    pub(crate) workload: String,
    pub(crate) running: bool,
    /// Whether it says it is ready: one on a node that is gone does not.
    pub(crate) unready: bool,
    pub(crate) node: String,
    /// The container of its proxy; empty without one.
    pub(crate) proxy: String,
    pub(crate) containers: Vec<String>,
    pub(crate) is_istiod: bool,
    /// Whether its proxy is its node's ztunnel.
    pub(crate) is_ztunnel: bool,
    /// An istiod's revision.
    pub(crate) revision: String,
    /// An istiod's `CLUSTER_ID`.
    pub(crate) cluster_id: Option<String>,
    /// Where an istiod serves `/debug`, when its annotations say another port than usual.
    pub(crate) monitoring: Option<u16>,
}

impl PodNote {
    pub(crate) fn of(pod: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (meta, spec) = (&pod["metadata"], &pod["spec"]);
        let (labels, owner) = (&meta["labels"], &meta["ownerReferences"][0]);
        let owner_name = owner["name"].as_str().unwrap_or_default();
        let hash = labels["pod-template-hash"]
            .as_str()
            .map(|hash| format!("-{hash}"));
        let workload = hash
            .and_then(|hash| owner_name.strip_suffix(hash.as_str()))
            .unwrap_or(owner_name);
        let list = |key: &str| spec[key].as_array().cloned().unwrap_or_default();
        let containers: Vec<Value> = list("containers")
            .into_iter()
            .chain(list("initContainers"))
            .collect();
        let is_istiod = labels["app"] == "istiod";
        let ready = pod["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|c| c["type"] == "Ready");
        let proxy = containers
            .iter()
            .find(|c| c["name"] == PROXY)
            .or_else(|| containers.iter().find(|c| is_proxy(c)));
        Self {
            namespace: text(&meta["namespace"]),
            name: text(&meta["name"]),
            workload: format!("{}/{workload}", owner["kind"].as_str().unwrap_or("Pod")),
            running: pod["status"]["phase"] == "Running" && meta["deletionTimestamp"].is_null(),
            unready: ready.is_some_and(|condition| condition["status"] != "True"),
            node: text(&spec["nodeName"]),
            proxy: proxy.map(|c| text(&c["name"])).unwrap_or_default(),
            containers: containers.iter().map(|c| text(&c["name"])).collect(),
            is_istiod,
            is_ztunnel: proxy.is_some_and(|c| c["args"][1] == "ztunnel")
                || labels["app"] == "ztunnel",
            revision: labels["istio.io/rev"]
                .as_str()
                .unwrap_or("default")
                .to_owned(),
            cluster_id: is_istiod.then(|| env(&containers, "CLUSTER_ID")).flatten(),
            monitoring: meta["annotations"]["prometheus.io/port"]
                .as_str()
                .and_then(|port| port.parse().ok()),
        }
    }

    pub(crate) fn has_proxy(&self) -> bool {
        !self.proxy.is_empty()
    }
}

/// The first value that a variable has in any container.
fn env(containers: &[Value], name: &str) -> Option<String> {
    for container in containers {
        for variable in container["env"].as_array().into_iter().flatten() {
            if variable["name"] == name
                && let Some(value) = variable["value"].as_str()
            {
                return Some(value.to_owned());
            }
        }
    }
    None
}

/// Templates of one's own may give the proxy another name; what it is told to do stays: `proxy
/// router …`.
fn is_proxy(container: &Value) -> bool {
    let arg = |at: usize| container["args"][at].as_str().unwrap_or_default();
    arg(0) == "proxy" && ["sidecar", "router", "waypoint", "ztunnel"].contains(&arg(1))
}

/// So many proxies, one of each workload before a second of any, those that are ready first.
pub(crate) fn sample(pods: &[PodNote], count: usize) -> Vec<&PodNote> {
    let mut turns: Vec<(bool, usize, &PodNote)> = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    for pod in pods {
        let turn = seen.entry((&pod.namespace, &pod.workload)).or_insert(0);
        turns.push((pod.unready, *turn, pod));
        *turn += 1;
    }
    turns.sort();
    turns
        .into_iter()
        .take(count)
        .map(|(_, _, pod)| pod)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(workload: &str, name: &str) -> PodNote {
        PodNote {
            workload: workload.to_owned(),
            name: name.to_owned(),
            ..PodNote::default()
        }
    }

    #[test]
    fn a_proxy_is_known_by_its_name_or_by_what_it_is_told_to_do() {
        let note = |spec: Value| {
            PodNote::of(&serde_json::json!({"metadata": {"name": "a"}, "spec": spec}))
        };
        let app = serde_json::json!({"name": "app", "args": ["proxy", "--port=80"]});
        let sidecar = serde_json::json!({"name": "istio-proxy", "restartPolicy": "Always"});
        let gateway =
            serde_json::json!({"name": "ingress", "args": ["proxy", "router", "--domain", "x"]});
        assert_eq!(note(serde_json::json!({"containers": [app]})).proxy, "");
        assert_eq!(
            note(serde_json::json!({"containers": [app, gateway]})).proxy,
            "ingress"
        );
        assert_eq!(
            note(serde_json::json!({"containers": [app], "initContainers": [sidecar]})).proxy,
            "istio-proxy"
        );
    }

    #[test]
    fn a_sample_has_one_of_each_workload_before_a_second_of_any() {
        let pods = [
            pod("a", "a-1"),
            pod("a", "a-2"),
            pod("a", "a-3"),
            pod("b", "b-1"),
            pod("c", "c-1"),
        ];
        let names = |count| {
            sample(&pods, count)
                .into_iter()
                .map(|pod| pod.name.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(3), ["a-1", "b-1", "c-1"]);
        assert_eq!(names(4), ["a-1", "b-1", "c-1", "a-2"]);
        assert_eq!(names(9).len(), 5);
        let gone = PodNote {
            unready: true,
            ..pod("d", "d-1")
        };
        let pods = [gone, pods[0].clone(), pods[1].clone()];
        assert_eq!(
            sample(&pods, 2)
                .into_iter()
                .map(|pod| pod.name.as_str())
                .collect::<Vec<_>>(),
            ["a-1", "a-2"]
        );
    }
}
